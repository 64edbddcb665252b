/**
 * The sanitizing renderer: the compiler calls it for every element (`jsxImportSource` in tsconfig.json and vite.config.ts).
 * It makes hidden characters in text and in spoken attributes visible, so that no page can forget to.
 */
import type { ElementType } from 'react'
import { visible } from './visible.ts'

/** Attributes that a person reads. The value of a field stays as the user wrote it. */
const read = ['title', 'alt', 'placeholder', 'aria-label', 'label'] as const

/** Marks a component that copies or parses its text. It makes hidden characters visible itself. */
export const takesText: unique symbol = Symbol('takesText')

export function sanitized<P extends Record<string, unknown>>(type: ElementType, props: P): P {
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

/** Returns the same value when nothing changes, so that React does not render it again. */
function shown(children: unknown): unknown {
  if (typeof children === 'string') return visible(children)
  if (!Array.isArray(children)) return children
  const each = children.map(shown)
  return each.some((child, i) => child !== children[i]) ? each : children
}
