/** Lines of a program without the secrets in them, also those that are spread over several lines. */
import type { Redactor } from './redaction.ts'
import type { StreamRedactor } from './stream.ts'

interface Line {
  at: string
  stream: string
  text: string
}

interface Held {
  stream: StreamRedactor
  /** Of what is looked for; another one, another stream. */
  state: object
  line: string
  at: string
}

export class RedactedLines<L extends Line> {
  readonly #redactor: Redactor
  readonly #held = new Map<L['stream'], Held>()

  constructor(redactor: Redactor) {
    this.#redactor = redactor
  }

  /** Whether the last lines wait: what follows may make a secret of them. */
  get isHolding(): boolean {
    return this.#held.size > 0
  }

  /** Those that are certain by now. */
  take(lines: L[]): Pick<L, keyof Line>[] {
    return lines.flatMap(({ at, stream, text }) => {
      const before = this.#held.get(stream)
      const changed = before !== undefined && before.state !== this.#redactor.state
      const told = changed ? this.#end(stream, before) : []
      const held =
        before === undefined || changed
          ? { stream: this.#redactor.stream(), state: this.#redactor.state, line: '', at }
          : before
      const parts = (held.line + held.stream.push(`${text}\n`)).split('\n')
      const open = parts.pop() ?? ''
      this.#held.set(stream, { ...held, line: open, at })
      return [...told, ...parts.map((part) => ({ at, stream, text: part }))]
    })
  }

  /** Nothing follows, or not soon. */
  rest(): Pick<L, keyof Line>[] {
    return [...this.#held].flatMap(([stream, held]) => this.#end(stream, held))
  }

  #end(stream: L['stream'], held: Held): Pick<L, keyof Line>[] {
    this.#held.delete(stream)
    const text = held.line + held.stream.end()
    if (text === '') return []
    const parts = text.split('\n')
    // Every line was given with its end.
    if (parts.at(-1) === '') parts.pop()
    return parts.map((part) => ({ at: held.at, stream, text: part }))
  }
}
