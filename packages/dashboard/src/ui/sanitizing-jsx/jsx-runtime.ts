/** React's runtime behind the sanitizing renderer. */
import type { ElementType, Key } from 'react'
import * as react from 'react/jsx-runtime'
import { sanitized } from './element.ts'

export type { JSX } from 'react'
export { Fragment } from 'react/jsx-runtime'

type Props = Record<string, unknown>

export function jsx(type: ElementType, props: Props, key?: Key) {
  return react.jsx(type, sanitized(type, props), key)
}

export function jsxs(type: ElementType, props: Props, key?: Key) {
  return react.jsxs(type, sanitized(type, props), key)
}
