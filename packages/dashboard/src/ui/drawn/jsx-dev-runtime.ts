/** As jsx-runtime.ts, with what a development build tells of each element. */
import type { ElementType, Key } from 'react'
import * as react from 'react/jsx-dev-runtime'
import { drawn } from './element.ts'

export type { JSX } from 'react'
export { Fragment } from 'react/jsx-dev-runtime'

export function jsxDEV(
  type: ElementType,
  props: Record<string, unknown>,
  key: Key | undefined,
  isStatic: boolean,
  source?: react.JSXSource,
  self?: unknown,
) {
  return react.jsxDEV(type, drawn(type, props), key, isStatic, source, self)
}
