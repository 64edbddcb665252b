/**
 * The door every element of ours goes through on its way to the screen: the compiler calls it for each tag (`jsxImportSource`
 * in tsconfig.json and vite.config.ts). What is drawn as text, or read out, is made visible here, so no page can forget it.
 */
import type { ElementType } from 'react'
import { visible } from './visible.ts'

/** Attributes a person reads. The value of a field is what they write, and stays as it is. */
const read = ['title', 'alt', 'placeholder', 'aria-label', 'label'] as const

/** A component that takes text as data, to copy or to parse it. It makes it visible itself. */
export const takesText: unique symbol = Symbol('takesText')

export function drawn<P extends Record<string, unknown>>(type: ElementType, props: P): P {
  if (typeof type === 'function' && takesText in type) return props
  let changed: Record<string, unknown> | null = null
  const children = shown(props.children)
  if (children !== props.children) changed = { ...props, children }
  for (const name of read) {
    const value = props[name]
    if (typeof value !== 'string') continue
    const text = visible(value)
    if (text !== value) changed = { ...(changed ?? props), [name]: text }
  }
  return (changed ?? props) as P
}

/** The same value where nothing in it has to change, so that nothing is drawn again for it. */
function shown(children: unknown): unknown {
  if (typeof children === 'string') return visible(children)
  if (!Array.isArray(children)) return children
  const each = children.map(shown)
  return each.some((child, i) => child !== children[i]) ? each : children
}
