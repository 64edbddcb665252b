import { Children, type ReactNode } from 'react'
import { BarActions, BarHeading } from './frame.tsx'
import { Command, withCode } from './text.tsx'

/** The title and `aside` are in the bar. `narrow` keeps forms readable on a wide screen. */
export function Page({
  title,
  aside,
  narrow = false,
  children,
}: {
  title: string
  aside?: ReactNode
  narrow?: boolean
  children: ReactNode
}) {
  return (
    <div className={`flex flex-col gap-6 ${narrow ? 'max-w-3xl' : ''}`}>
      <BarHeading>
        <h1 className="truncate font-semibold">{title}</h1>
      </BarHeading>
      {aside !== undefined && <BarActions>{aside}</BarActions>}
      {children}
    </div>
  )
}

interface Panes {
  label: string
  panel: ReactNode
  children: ReactNode
}

/**
 * The content with a panel at its right. On a wide screen the content scrolls with the page and the panel by itself; on a
 * narrow one the panel follows the content. Both reach the edges of the page and bring their own padding. A wide panel has
 * more than half of the width.
 */
export function TwoPane({ label, wide = false, panel, children }: Panes & { wide?: boolean }) {
  return (
    <div
      className={`-mx-4 -my-5 grid grid-cols-[minmax(0,1fr)] md:-mx-6 ${wide ? 'lg:grid-cols-[minmax(0,9fr)_minmax(0,11fr)]' : 'lg:grid-cols-[minmax(0,1fr)_var(--spacing-aside)]'}`}
    >
      <div data-pane className="min-w-0">
        {children}
      </div>
      <aside
        aria-label={label}
        tabIndex={0}
        className="border-t border-line bg-panel lg:sticky lg:top-bar lg:h-panel lg:mb-panel-end lg:overflow-y-auto lg:overscroll-contain lg:border-t-0 lg:border-l"
      >
        {panel}
      </aside>
    </div>
  )
}

/** Two panes below a head that belongs to the content. On a narrow screen the panel is between the two, and keeps itself low. */
export function HeadedPanes({ label, head, panel, children }: Panes & { head: ReactNode }) {
  return (
    <div className="-mx-4 -my-5 grid grid-cols-[minmax(0,1fr)] md:-mx-6 xl:grid-cols-[minmax(0,1fr)_var(--spacing-aside)] xl:grid-rows-[auto_1fr]">
      <div className="min-w-0">{head}</div>
      <div data-pane className="order-last min-w-0 xl:col-start-1 xl:row-start-2">
        {children}
      </div>
      <aside
        aria-label={label}
        tabIndex={0}
        className="border-line bg-panel max-xl:border-b xl:sticky xl:top-bar xl:col-start-2 xl:row-span-2 xl:row-start-1 xl:h-panel xl:mb-panel-end xl:overflow-y-auto xl:overscroll-contain xl:border-l"
      >
        {panel}
      </aside>
    </div>
  )
}

/** One subject of a panel. Lines separate the sections. The one that leads has the verdict of the panel as its title. */
export function PanelSection({
  title,
  leads = false,
  aside,
  children,
}: {
  title: string
  leads?: boolean
  aside?: ReactNode
  children: ReactNode
}) {
  return (
    <section className="border-b border-line p-4 text-sm">
      <header className="mb-2 flex items-baseline justify-between gap-2">
        <h2 className={`font-semibold ${leads ? 'text-lg' : 'text-base'}`}>{title}</h2>
        {aside !== undefined && <div className="text-faint">{aside}</div>}
      </header>
      {children}
    </section>
  )
}

/** The heading of a group of rows in a list that fills the page. */
export function GroupHeading({ title, count }: { title: string; count?: number }) {
  return (
    <h2 className="flex items-center gap-2 border-b border-line bg-side px-4 py-row text-sm font-semibold text-dim md:px-6">
      {title}
      {count !== undefined && <span className="text-faint">{count}</span>}
    </h2>
  )
}

export function Card({ title, aside, children }: { title?: ReactNode; aside?: ReactNode; children: ReactNode }) {
  return (
    <section className="rounded-lg border border-line bg-panel">
      {title !== undefined && (
        <header className="flex flex-wrap items-center justify-between gap-2 border-b border-line px-4 py-2">
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

export const rowClass = 'flex flex-wrap items-center gap-x-3 gap-y-1 px-4 py-row'

export function Row({ children }: { children: ReactNode }) {
  return <li className={rowClass}>{children}</li>
}

/** The facts of a row: on a narrow screen its buttons stay beside its name, and the facts stand below both. */
export const rowFacts = 'text-sm text-dim max-lg:order-last max-lg:w-full'

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
  const look = { bad: 'bg-bad-soft text-bad', warn: 'bg-warn-soft text-warn', neutral: 'bg-hover text-text' }[tone]
  return (
    <div
      role={tone === 'bad' ? 'alert' : 'status'}
      className={`flex flex-wrap items-center gap-x-4 gap-y-2 rounded-lg px-4 py-3 ${look}`}
    >
      <div className="min-w-0 flex-1 basis-full sm:basis-56">
        <p className="font-medium">{withCode(title)}</p>
        {children !== undefined && children !== null && (
          <div className="text-sm text-text">{typeof children === 'string' ? withCode(children) : children}</div>
        )}
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

/** Rows of the same height as the ones that load, so that nothing moves when they arrive. */
export function Skeleton({ what, rows }: { what: string; rows: number }) {
  return (
    <div role="status" className="animate-[appear_0s_0.3s_both] divide-y divide-line">
      <span className="sr-only">Loading {what}…</span>
      {Array.from({ length: rows }, (_, row) => (
        <div key={row} className={rowClass}>
          <span className="h-5 w-20 rounded-full bg-hover" />
          <span className="h-lh flex-1 py-1">
            <span className="block h-full max-w-80 rounded-sm bg-hover" />
          </span>
          <span className="size-5 rounded-full bg-hover" />
        </div>
      ))}
    </div>
  )
}
