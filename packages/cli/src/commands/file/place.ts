import type { Arg } from '../../command.ts'

export const placeArg = {
  summary: 'branch:path, or a path on the default branch',
} as const satisfies Arg

/** As git writes it. A path with a colon needs its branch before it. */
export function placeOf(given: string): { ref?: string; path: string } {
  const at = given.indexOf(':')
  return at <= 0 ? { path: given.slice(at + 1) } : { ref: given.slice(0, at), path: given.slice(at + 1) }
}
