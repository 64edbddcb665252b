/** jsx-runtime.ts with the debug information of a development build. */
import type { ElementType, Key } from 'react'
import * as react from 'react/jsx-dev-runtime'
import { sanitized } from './element.ts'

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
  return react.jsxDEV(type, sanitized(type, props), key, isStatic, source, self)
}
