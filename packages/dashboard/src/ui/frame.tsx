/** The bar at the top of every page. A page puts its heading and its actions into it. */
import { createContext, type ReactNode, use, useMemo, useState } from 'react'
import { createPortal } from 'react-dom'

interface Slots {
  heading: HTMLElement | null
  actions: HTMLElement | null
}

/** Null outside the frame: then the parts render in place. */
const Bar = createContext<Slots | null>(null)

/** `bar` receives the refs of the two places in the bar. */
export function Frame({
  bar,
  children,
}: {
  bar: (places: Record<keyof Slots, (element: HTMLElement | null) => void>) => ReactNode
  children: ReactNode
}) {
  const [heading, setHeading] = useState<HTMLElement | null>(null)
  const [actions, setActions] = useState<HTMLElement | null>(null)
  const slots = useMemo(() => ({ heading, actions }), [heading, actions])
  return (
    <Bar value={slots}>
      {bar({ heading: setHeading, actions: setActions })}
      {children}
    </Bar>
  )
}

/** The heading of the page, as the last part of the breadcrumbs. */
export function BarHeading({ children }: { children: ReactNode }) {
  return <InBar slot="heading">{children}</InBar>
}

/** The next action of the page, and at most a few quiet ones. */
export function BarActions({ children }: { children: ReactNode }) {
  return <InBar slot="actions">{children}</InBar>
}

function InBar({ slot, children }: { slot: keyof Slots; children: ReactNode }) {
  const slots = use(Bar)
  if (slots === null) return children
  const place = slots[slot]
  return place === null ? null : createPortal(children, place)
}
