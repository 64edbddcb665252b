import { Children, type ReactNode } from 'react'
import { Command } from './copy.tsx'

export function Card({ title, aside, children }: { title?: ReactNode; aside?: ReactNode; children: ReactNode }) {
  return (
    <section className="rounded-lg border border-line">
      {title !== undefined && (
        <header className="flex flex-wrap items-center justify-between gap-2 rounded-t-lg border-b border-line bg-raised px-4 py-2">
          <h2 className="text-sm font-semibold">{title}</h2>
          {aside}
        </header>
      )}
      {children}
    </section>
  )
}

/** A list with lines between its rows. `empty` replaces a list without rows. */
export function Rows({ children, label, empty }: { children: ReactNode; label: string; empty?: ReactNode }) {
  if (empty !== undefined && Children.count(children) === 0) return empty
  return (
    <ul aria-label={label} className="divide-y divide-line">
      {children}
    </ul>
  )
}

export const rowClass = 'flex flex-wrap items-center gap-x-3 gap-y-1 px-4 py-2.5'

export function Row({ children }: { children: ReactNode }) {
  return <li className={rowClass}>{children}</li>
}

/** An empty list. `command` creates its first item. */
export function Empty({ children, command }: { children: ReactNode; command?: string }) {
  return (
    <div className="px-4 py-6 text-center text-dim">
      {children}
      {command !== undefined && (
        <div className="mx-auto mt-3 max-w-xl text-left">
          <Command>{command}</Command>
        </div>
      )}
    </div>
  )
}
