/** Redacts secrets from the lines of a program, including secrets that span lines. */
import type { Redactor } from './redaction.ts'
import { heldBackChars, type StreamRedactor } from './stream.ts'

export interface Line {
  at: string
  stream: string
  text: string
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
}

export class RedactedLines<L extends Line> {
  readonly #redactor: Redactor
  readonly #held = new Map<L['stream'], Held>()

  constructor(redactor: Redactor) {
    this.#redactor = redactor
  }

  /** Whether lines are held back, until more follow or `rest` ends the text. */
  get isHolding(): boolean {
    return this.#held.size > 0
  }

  /** Returns the lines that are final. */
  take(lines: L[]): Pick<L, keyof Line>[] {
    return lines.flatMap(({ at, stream, text }) => {
      const before = this.#held.get(stream)
      const changed = before !== undefined && before.state !== this.#redactor.state
      const ended = changed ? this.#end(stream, before) : []
      const held: Held =
        before === undefined || changed
          ? { stream: this.#redactor.stream(), state: this.#redactor.state, line: '', length: 0, ends: [] }
          : before
      this.#held.set(stream, held)
      held.length += text.length + 1
      held.ends.push({ end: held.length, at })
      return [...ended, ...this.#release(stream, held, held.stream.push(`${text}\n`), held.length - heldBackChars)]
    })
  }

  /** Returns the held lines when no more follow soon. */
  rest(): Pick<L, keyof Line>[] {
    return [...this.#held].flatMap(([stream, held]) => this.#end(stream, held))
  }

  #end(stream: L['stream'], held: Held): Pick<L, keyof Line>[] {
    this.#held.delete(stream)
    return this.#release(stream, held, held.stream.end(), held.length)
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
