/** Wraps text at words. A word that is longer than a line keeps its own line. */
export function wrap(text: string, width: number): string[] {
  const lines: string[] = []
  let line = ''
  for (const word of text.split(' ')) {
    if (line !== '' && Bun.stringWidth(line) + 1 + Bun.stringWidth(word) > width) {
      lines.push(line)
      line = word
    } else line = line === '' ? word : `${line} ${word}`
  }
  return [...lines, line]
}
