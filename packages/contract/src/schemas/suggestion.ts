/** A change that a comment suggests: a `suggestion` block of Markdown, which replaces the commented lines. */

export interface Suggestion {
  /** The lines that replace the commented ones; none deletes them. */
  lines: string[]
  /** The text around the block. */
  before: string
  after: string
}

const opening = /^ {0,3}(`{3,}|~{3,})[ \t]*suggestion[ \t]*$/

/** The first suggestion of a comment. A block without an end goes to the end of the text. */
export function suggestionOf(text: string): Suggestion | null {
  const all = text.replace(/\r\n?/g, '\n').split('\n')
  let inside: string | null = null
  for (const [at, line] of all.entries()) {
    if (inside !== null) {
      if (closes(line, inside)) inside = null
      continue
    }
    const fence = opening.exec(line)?.[1]
    if (fence === undefined) {
      // A line of another block is not an opening.
      inside = /^ {0,3}(`{3,}|~{3,})/.exec(line)?.[1] ?? null
      continue
    }
    const found = all.findIndex((each, index) => index > at && closes(each, fence))
    const end = found === -1 ? all.length : found
    return { lines: all.slice(at + 1, end), before: joined(all.slice(0, at)), after: joined(all.slice(end + 1)) }
  }
  return null
}

function closes(line: string, fence: string): boolean {
  const mark = /^ {0,3}(`{3,}|~{3,})[ \t]*$/.exec(line)?.[1]
  return mark !== undefined && mark[0] === fence[0] && mark.length >= fence.length
}

const joined = (lines: string[]) => lines.join('\n').trim()

/** The block for these lines. Its fence is longer than any in the lines. */
export function suggestionBlock(lines: readonly string[]): string {
  const longest = Math.max(2, ...lines.map((line) => /^ *(`{3,})/.exec(line)?.[1]?.length ?? 0))
  const fence = '`'.repeat(longest + 1)
  return [`${fence}suggestion`, ...lines, fence].join('\n')
}
