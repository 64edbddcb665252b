/** React's own, behind our door. */
import type { ElementType, Key } from 'react'
import * as react from 'react/jsx-runtime'
import { drawn } from './element.ts'

export type { JSX } from 'react'
export { Fragment } from 'react/jsx-runtime'

type Props = Record<string, unknown>

export function jsx(type: ElementType, props: Props, key?: Key) {
  return react.jsx(type, drawn(type, props), key)
}

export function jsxs(type: ElementType, props: Props, key?: Key) {
  return react.jsxs(type, drawn(type, props), key)
}
