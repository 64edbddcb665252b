import type { Arg } from '../../arguments/command.ts'

export const placeArg = {
  summary: 'branch:path, or a path on the default branch',
} as const satisfies Arg

/** The form git uses. A path with a colon needs its branch before it. */
export function placeOf(given: string): { ref?: string; path: string } {
  const at = given.indexOf(':')
  return at <= 0 ? { path: given.slice(at + 1) } : { ref: given.slice(0, at), path: given.slice(at + 1) }
}
