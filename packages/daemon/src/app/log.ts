/** An app's output by line: the newest lines, within a limit. */
import type { AppLine } from '@svc/contract/daemon/control'

const lineCharsMax = 8_000
/** The output written during a restart of the server must fit. */
const charsMax = 4 * 1024 * 1024
/** Per reply. */
const batchCharsMax = 256 * 1024

export type AppLog = ReturnType<typeof createAppLog>

export function createAppLog(changed: () => void) {
  let lines: AppLine[] = []
  let chars = 0
  let seq = 0

  function add(stream: AppLine['stream'], text: string): void {
    const kept = text.length > lineCharsMax ? `${text.slice(0, lineCharsMax)}… (cut)` : text
    lines.push({ seq: ++seq, at: Date.now(), stream, text: kept })
    chars += kept.length + 50
    // Drops a quarter at once: dropping single lines would copy the list for each.
    if (chars > charsMax) {
      lines = lines.slice(Math.ceil(lines.length / 4))
      chars = lines.reduce((sum, line) => sum + line.text.length + 50, 0)
    }
    changed()
  }

  return {
    add,
    /** Takes output in chunks of any size. `end` adds a last line without a line break. */
    writer(stream: AppLine['stream']) {
      let held = ''
      return {
        write(chunk: string): void {
          const parts = (held + chunk).split(/\r?\n/)
          held = parts.pop() ?? ''
          for (const part of parts) add(stream, part)
          if (held.length > lineCharsMax) {
            add(stream, held)
            held = ''
          }
        },
        end(): void {
          if (held !== '') add(stream, held)
          held = ''
        },
      }
    },
    after(known: number): AppLine[] {
      const first = Math.max(0, known + 1 - (lines[0]?.seq ?? 0))
      let size = 0
      let end = first
      for (; end < lines.length; end++) {
        size += lines[end]!.text.length + 50
        if (size > batchCharsMax) break
      }
      return lines.slice(first, end)
    },
    /** The last lines of a stream, for error messages. */
    last: (stream: AppLine['stream'], count: number) =>
      lines
        .filter((line) => line.stream === stream)
        .slice(-count)
        .map(({ text }) => text)
        .join('\n'),
  }
}
