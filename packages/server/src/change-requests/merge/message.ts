/** The commit message of a merge: the given or default text, and a Merged-By trailer that only the service writes. */
export function mergeMessage(
  cr: { number: number; title: string },
  user: { user_id: string; name: string },
  given: string | undefined,
): string {
  const text = tidy((given ?? '').replace(foreignTrailer, '')) || `Merge CR #${cr.number}: ${oneLine(cr.title)}`
  const trailer = `Merged-by: ${oneLine(user.name.replace(/[<>]/g, ' '))} <${user.user_id}>`
  return `${text}${endsInTrailers(text) ? '\n' : '\n\n'}${trailer}\n`
}

/** git matches a trailer's name in any case and allows blanks before the colon. */
const foreignTrailer = /^[^\S\r\n]*merged-by\s*:.*$/gim

/** Normalizes line endings and trims blank lines. */
function tidy(text: string): string {
  return text
    .replace(/\r\n?/g, '\n')
    .replace(/[^\S\n]+$/gm, '')
    .replace(/^\n+|\n+$/g, '')
}

/** Whether the last paragraph consists of trailers, which ours then joins. The first paragraph never does: `Fix: typo` is a subject. */
function endsInTrailers(text: string): boolean {
  const paragraphs = text.split(/\n{2,}/)
  if (paragraphs.length < 2) return false
  const lines = paragraphs.at(-1)!.split('\n')
  // A line that starts with white space continues the trailer before it.
  return lines.every((line, index) => /^[A-Za-z0-9][A-Za-z0-9-]*: /.test(line) || (index > 0 && /^[ \t]/.test(line)))
}

export function oneLine(text: string): string {
  return text.replace(/[\s\p{Cc}]+/gu, ' ').trim()
}
