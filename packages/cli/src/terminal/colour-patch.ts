import picocolors from 'picocolors'
import { safePatch } from './safe.ts'

/** Sanitizes a unified diff and colours its lines. Counts the lines of each hunk to tell headers from content that looks like one. */
export function colourPatch(patch: string, colour: boolean): string {
  const safe = safePatch(patch)
  if (!colour) return safe
  const paint = picocolors.createColors(true)
  let removed = 0
  let added = 0
  return safe
    .split('\n')
    .map((line) => {
      if (removed > 0 || added > 0) {
        if (line.startsWith('\\')) return paint.dim(line)
        if (line.startsWith('+')) {
          added--
          return paint.green(line)
        }
        if (line.startsWith('-')) {
          removed--
          return paint.red(line)
        }
        added--
        removed--
        return line
      }
      const hunk = /^(@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@)(.*)$/.exec(line)
      if (hunk !== null) {
        removed = Number(hunk[2] ?? 1)
        added = Number(hunk[3] ?? 1)
        return paint.cyan(hunk[1]!) + paint.dim(hunk[4]!)
      }
      return line === '' || line.startsWith('\\') ? line : paint.bold(line)
    })
    .join('\n')
}
