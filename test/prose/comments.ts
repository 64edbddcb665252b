/**
 * Counts the habits that make comments read as translated: `node scripts/bun.mjs test/prose/comments.ts [--list] [folder…]`.
 * It prints and never fails: prose is judged by readers.
 */
import { handWritten, readSource, type Source } from '../sources.ts'

export interface Comment {
  line: number
  text: string
}

/** Each habit, with the percentage of comments that may have it. */
export const habits = {
  'open with a free relative': { most: 5, is: /^(What|Whatever|Who|Whoever|Whose|Whom|Which|That|Of|How|For whom)\b/ },
  'say "said" or "told"': { most: 1, is: /\b(said|told)\b/i },
  'say "nobody" or "somebody"': { most: 0.5, is: /\b(nobody|somebody)\b/i },
}

/** A block comment is one comment, and so is a run of line comments on adjacent lines. */
export function commentsOf(source: Source): Comment[] {
  const found: (Comment & { lastLine: number; isRun: boolean })[] = []
  for (const { type, value, start, end } of source.comments) {
    const text = value
      .replace(/^\s*\*+ ?/gm, '')
      .replace(/\s+/g, ' ')
      .trim()
    if (text === '') continue
    const [line, lastLine] = [source.lineAt(start), source.lineAt(end)]
    const before = found.at(-1)
    if (type === 'Line' && before?.isRun && before.lastLine === line - 1) {
      before.text += ` ${text}`
      before.lastLine = lastLine
    } else found.push({ line, text, lastLine, isRun: type === 'Line' })
  }
  return found
}

if (import.meta.main) {
  const words = process.argv.slice(2)
  const folders = words.filter((word) => !word.startsWith('--'))
  const comments = (folders.length > 0 ? folders : ['.']).flatMap((folder) =>
    handWritten(folder).flatMap((path) => commentsOf(readSource(path)).map((comment) => ({ path, ...comment }))),
  )
  console.log(`${comments.length} comments`)
  for (const [name, { most, is }] of Object.entries(habits)) {
    const found = comments.filter(({ text }) => is.test(text))
    const percent = (100 * found.length) / Math.max(1, comments.length)
    console.log(`${percent.toFixed(1)}% ${name} (${found.length}; at most ${most}%)`)
    if (words.includes('--list')) for (const { path, line, text } of found) console.log(`  ${path}:${line}: ${text}`)
  }
}
