/** Reads the log of all starts of a server, and keeps what is worse than news. */
import type { Outages } from './run.ts'

export interface LogLine {
  atMs: number
  level: number
  msg: string
  line: string
}

export const levels = { warning: 40, error: 50 }

/** Warnings that harms and the set-up of the run cause, beside its restarts. */
const expected: { because: string; pattern: RegExp }[] = [
  { because: 'a session ended during a command of its agent', pattern: /The client disconnected before/ },
  { because: 'the run has one disk', pattern: /is on the disk of the data, whose loss would take the backups/ },
]

export class LogReader {
  /** Lines by level, over all starts. */
  readonly counts: Record<number, number> = {}
  readonly lines: LogLine[] = []
  /** Output that is no log line, such as the last words of a runtime that crashed. */
  readonly other: string[] = []
  #rest = ''

  readonly hear = (text: string): void => {
    const lines = (this.#rest + text).split('\n')
    this.#rest = lines.pop()!
    for (const line of lines) this.#take(line)
  }

  #take(line: string): void {
    const entry = parse(line)
    if (entry === null) {
      if (/panic|segmentation|error/i.test(line)) this.other.push(line)
      return
    }
    this.counts[entry.level] = (this.counts[entry.level] ?? 0) + 1
    if (entry.level >= levels.warning) this.lines.push({ atMs: Date.parse(entry.time), ...entry, line })
  }

  /** Lines that no harm of the run explains, and how often each explained message came. */
  judge(outages: Outages, untilMs = Number.POSITIVE_INFINITY): { found: string[]; explained: Record<string, number> } {
    const found = [...this.other]
    const explained: Record<string, number> = {}
    for (const { atMs, msg, line } of this.lines.filter((each) => each.atMs <= untilMs)) {
      const because = outages.explains(atMs) ? 'a restart' : expected.find(({ pattern }) => pattern.test(line))?.because
      if (because === undefined) found.push(line)
      else explained[`${msg} (${because})`] = (explained[`${msg} (${because})`] ?? 0) + 1
    }
    return { found, explained }
  }
}

function parse(line: string): { level: number; time: string; msg: string } | null {
  if (!line.startsWith('{')) return null
  try {
    return JSON.parse(line) as { level: number; time: string; msg: string }
  } catch {
    // A killed server can leave half a line.
    return null
  }
}
