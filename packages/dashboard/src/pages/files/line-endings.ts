/** A text field only knows line feeds, so an edited text gets back the line endings that its file has. */

interface Line {
  text: string
  end: string
}

/** The text as a text field shows it. */
export const fieldText = (content: string) => content.replaceAll(/\r\n?/g, '\n')

/** Lines before and after the edit keep their own ending, new ones get the most frequent. A missing last one stays missing. */
export function withEndingsOf(content: string, edited: string): string {
  if (!content.includes('\r')) return edited
  const old = linesOf(content)
  const texts = edited.split('\n')
  const before = countSame(old, texts, (list, n) => list[n])
  const after = countSame(old.slice(before), texts.slice(before), (list, n) => list[list.length - 1 - n])
  const usual = usualEnd(old)
  return texts
    .map((text, at) => {
      if (at === texts.length - 1) return text
      const same = at < before ? old[at] : at >= texts.length - after ? old[at + old.length - texts.length] : undefined
      return text + (same?.end || usual)
    })
    .join('')
}

function linesOf(content: string): Line[] {
  const parts = content.split(/(\r\n|\r|\n)/)
  return Array.from({ length: (parts.length + 1) / 2 }, (_, n) => ({
    text: parts[2 * n]!,
    end: parts[2 * n + 1] ?? '',
  }))
}

function countSame(
  old: Line[],
  texts: string[],
  pick: <T extends Line | string>(list: T[], n: number) => T | undefined,
): number {
  const max = Math.min(old.length, texts.length)
  let count = 0
  while (count < max && pick(old, count)?.text === pick(texts, count)) count++
  return count
}

function usualEnd(lines: Line[]): string {
  const counts = new Map<string, number>()
  for (const { end } of lines) if (end !== '') counts.set(end, (counts.get(end) ?? 0) + 1)
  return [...counts].sort(([, one], [, other]) => other - one)[0]?.[0] ?? '\n'
}
