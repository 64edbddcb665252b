/** More lines would make the page slow. */
const linesMax = 5000

/** Null for a file that is no text. */
export function linesOf({ encoding, content, truncated }: { encoding: string; content: string; truncated: boolean }): {
  lines: string[] | null
  isCut: boolean
} {
  if (encoding !== 'utf-8') return { lines: null, isCut: false }
  const lines = content.split('\n')
  if (lines.at(-1) === '') lines.pop()
  return { lines: lines.slice(0, linesMax), isCut: truncated || lines.length > linesMax }
}
