/** Lines of a program without the secrets in them, also those that are spread over several lines. */
import type { Redactor } from './redaction.ts'
import { heldBackChars, type StreamRedactor } from './stream.ts'

interface Line {
  at: string
  stream: string
  text: string
}

interface Held {
  stream: StreamRedactor
  /** Of what is looked for; another one, another stream. */
  state: object
  /** The released beginning of a line whose end stays back. */
  line: string
  /** Of the text so far, and where in it each line ends whose end stays back. */
  length: number
  ends: { end: number; at: string }[]
}

export class RedactedLines<L extends Line> {
  readonly #redactor: Redactor
  readonly #held = new Map<L['stream'], Held>()

  constructor(redactor: Redactor) {
    this.#redactor = redactor
  }

  /** Whether the last lines stay back: a fixed number of characters does until more follow, or `rest` says that none do. */
  get isHolding(): boolean {
    return this.#held.size > 0
  }

  /** Those that are certain by now. */
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

  /** Nothing follows, or not soon. */
  rest(): Pick<L, keyof Line>[] {
    return [...this.#held].flatMap(([stream, held]) => this.#end(stream, held))
  }

  #end(stream: L['stream'], held: Held): Pick<L, keyof Line>[] {
    this.#held.delete(stream)
    return this.#release(stream, held, held.stream.end(), held.length)
  }

  /** Each with its own time; a find that spans several lines makes one of them, with the time of its end. */
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
