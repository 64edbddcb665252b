/** Lines of an app without the secrets in them, also those that are spread over several lines. */
import type { AppLogLine } from '@svc/contract'
import type { Redactor } from '../redaction/redaction.ts'
import type { StreamRedactor } from '../redaction/stream.ts'

type Stream = AppLogLine['stream']

interface Held {
  stream: StreamRedactor
  /** Of what is looked for; another one, another stream. */
  state: object
  line: string
  at: string
}

export class RedactedLines {
  readonly #redactor: Redactor
  readonly #held = new Map<Stream, Held>()

  constructor(redactor: Redactor) {
    this.#redactor = redactor
  }

  /** Whether the last lines wait: what follows may make a secret of them. */
  get isHolding(): boolean {
    return this.#held.size > 0
  }

  /** Those that are certain by now. */
  take(lines: AppLogLine[]): AppLogLine[] {
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
  rest(): AppLogLine[] {
    return [...this.#held].flatMap(([stream, held]) => this.#end(stream, held))
  }

  #end(stream: Stream, held: Held): AppLogLine[] {
    this.#held.delete(stream)
    const text = held.line + held.stream.end()
    if (text === '') return []
    const parts = text.split('\n')
    // Every line was given with its end.
    if (parts.at(-1) === '') parts.pop()
    return parts.map((part) => ({ at: held.at, stream, text: part }))
  }
}
