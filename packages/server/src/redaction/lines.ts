/** Redacts secrets from the lines of a program, including secrets that span lines. */
import type { Redactor } from './redaction.ts'
import { heldBackChars, type StreamRedactor } from './stream.ts'

export interface Line {
  at: string
  stream: string
  text: string
}

/** How many lines of a program are final, so that a later reader continues after them. */
export interface LogPosition {
  /** Every line up to this number is. */
  after: number
  /** Streams of which later lines are, too: each holds back its own. */
  ahead: Record<string, number>
}

interface Held {
  stream: StreamRedactor
  /** Identifies the set of patterns; a different one starts a new stream. */
  state: object
  /** The released start of a line whose end is held back. */
  line: string
  /** The length of the text so far, and the ends of the lines that are held back. */
  length: number
  ends: { end: number; at: string }[]
  /** Lines that are not final: held back, or the start of a find that continues in the next line. */
  open: { end: number; seq: number }[]
  /** When its newest line came, in milliseconds of the monotonic clock. */
  heardAt: number
}

export class RedactedLines<L extends Line> {
  readonly #redactor: Redactor
  readonly #held = new Map<L['stream'], Held>()
  /** The last final line of each stream. */
  readonly #final: Map<L['stream'], number>
  #last: number

  constructor(redactor: Redactor, from: LogPosition) {
    this.#redactor = redactor
    this.#last = from.after
    this.#final = new Map(Object.entries(from.ahead))
  }

  /** Whether lines are held back, until more follow or `rest` ends the text. */
  get isHolding(): boolean {
    return this.#held.size > 0
  }

  get position(): LogPosition {
    const open = [...this.#held.values()].flatMap((held) => held.open.slice(0, 1).map(({ seq }) => seq))
    const after = open.length === 0 ? this.#last : Math.min(...open) - 1
    return { after, ahead: Object.fromEntries([...this.#final].filter(([, seq]) => seq > after)) }
  }

  /** Returns the lines that are final. Leaves out those that were final at the position it began with. */
  take(lines: (L & { seq: number })[]): Pick<L, keyof Line>[] {
    return lines.flatMap(({ seq, at, stream, text }) => {
      this.#last = Math.max(this.#last, seq)
      if (seq <= (this.#final.get(stream) ?? 0)) return []
      const before = this.#held.get(stream)
      const changed = before !== undefined && before.state !== this.#redactor.state
      const ended = changed ? this.#end(stream, before) : []
      const held: Held =
        before === undefined || changed
          ? {
              stream: this.#redactor.stream(),
              state: this.#redactor.state,
              line: '',
              length: 0,
              ends: [],
              open: [],
              heardAt: 0,
            }
          : before
      this.#held.set(stream, held)
      held.heardAt = performance.now()
      held.length += text.length + 1
      held.ends.push({ end: held.length, at })
      held.open.push({ end: held.length, seq })
      const released = this.#release(stream, held, held.stream.push(`${text}\n`), held.length - heldBackChars)
      this.#finish(stream, held, held.stream.lineStart)
      return [...ended, ...released]
    })
  }

  /**
   * Returns the held lines of the streams that were quiet for so long, in the order of their times. Otherwise a line of
   * a stream that says little would come after many later ones of another.
   */
  rest(quietMs = 0): Pick<L, keyof Line>[] {
    const now = performance.now()
    return [...this.#held]
      .filter(([, held]) => now - held.heardAt >= quietMs)
      .flatMap(([stream, held]) => this.#end(stream, held))
      .sort((one, other) => (one.at < other.at ? -1 : one.at > other.at ? 1 : 0))
  }

  #end(stream: L['stream'], held: Held): Pick<L, keyof Line>[] {
    this.#held.delete(stream)
    this.#finish(stream, held, held.length)
    return this.#release(stream, held, held.stream.end(), held.length)
  }

  #finish(stream: L['stream'], { open }: Held, upTo: number): void {
    for (let first = open[0]; first !== undefined && first.end <= upTo; first = open[0]) {
      this.#final.set(stream, first.seq)
      open.shift()
    }
  }

  /** Each line keeps its own time. A find over several lines makes them one line with the time of the last. */
  #release(stream: L['stream'], held: Held, released: string, upTo: number): Pick<L, keyof Line>[] {
    const parts = (held.line + released).split('\n')
    held.line = parts.pop() ?? ''
    const count = held.ends.findIndex(({ end }) => end > upTo)
    const ended = held.ends.splice(0, count === -1 ? held.ends.length : count)
    return parts.map((text, index) => {
      const { at } = ended[Math.max(0, ended.length - parts.length + index)] ?? held.ends[0]!
      return { at, stream, text }
    })
  }
}
