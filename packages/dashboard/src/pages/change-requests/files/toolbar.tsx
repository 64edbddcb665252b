import type { ReactNode } from 'react'
import { Button } from '../../../ui/button.tsx'

export interface View {
  layout: 'split' | 'unified'
  wrap: boolean
  ignoreWhitespace: boolean
}

/** How the change is shown. */
export function Toolbar({
  view,
  onView,
  onKeys,
  busy,
  children,
}: {
  view: View
  onView: (view: View) => void
  onKeys: () => void
  /** What is shown is still of the choice before. */
  busy: boolean
  children: ReactNode
}) {
  const { layout, wrap, ignoreWhitespace } = view
  return (
    <div
      role="toolbar"
      aria-label="How the change is shown"
      aria-busy={busy}
      className="flex flex-wrap items-center gap-2"
    >
      {children}
      <Toggle on={ignoreWhitespace} onChange={(on) => onView({ ...view, ignoreWhitespace: on })}>
        Ignore whitespace
      </Toggle>
      <Toggle on={wrap} onChange={(on) => onView({ ...view, wrap: on })}>
        Wrap lines
      </Toggle>
      <Button onClick={() => onView({ ...view, layout: layout === 'split' ? 'unified' : 'split' })}>
        {layout === 'split' ? 'One column' : 'Side by side'}
      </Button>
      <Button kind="quiet" onClick={onKeys} aria-label="Keys">
        ?
      </Button>
    </div>
  )
}

export function Toggle({
  on,
  onChange,
  children,
}: {
  on: boolean
  onChange: (on: boolean) => void
  children: ReactNode
}) {
  return (
    <Button
      onClick={() => onChange(!on)}
      aria-pressed={on}
      className="aria-pressed:border-accent aria-pressed:bg-sunken"
    >
      {children}
    </Button>
  )
}
