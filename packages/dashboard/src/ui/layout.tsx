import { Children, type ReactNode } from 'react'
import { Command } from './text.tsx'

export function Page({ title, aside, children }: { title: string; aside?: ReactNode; children: ReactNode }) {
  const heading = <h1 className="text-xl font-semibold">{title}</h1>
  return (
    <div className="flex flex-col gap-6">
      {aside === undefined ? (
        heading
      ) : (
        <div className="flex flex-wrap items-center justify-between gap-2">
          {heading}
          {aside}
        </div>
      )}
      {children}
    </div>
  )
}

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

/** An error, a warning, or a message. Screen readers announce it. */
export function Notice({
  tone = 'bad',
  title,
  children,
  action,
}: {
  tone?: 'bad' | 'warn' | 'neutral'
  title: string
  children?: ReactNode
  action?: ReactNode
}) {
  const edge = { bad: 'border-l-bad', warn: 'border-l-warn', neutral: 'border-l-line-strong' }[tone]
  return (
    <div
      role={tone === 'bad' ? 'alert' : 'status'}
      className={`flex flex-wrap items-center gap-x-4 gap-y-2 rounded-md border border-l-4 border-line bg-raised px-4 py-3 ${edge}`}
    >
      <div className="min-w-0 flex-1">
        <p className="font-medium">{title}</p>
        {children !== undefined && children !== null && <div className="text-sm text-dim">{children}</div>}
      </div>
      {action}
    </div>
  )
}

/** Appears after a delay, so that a quick response does not flicker. */
export function Loading({ what }: { what: string }) {
  return (
    <p role="status" className="animate-[appear_0s_0.3s_both] px-4 py-6 text-center text-dim">
      Loading {what}…
    </p>
  )
}
