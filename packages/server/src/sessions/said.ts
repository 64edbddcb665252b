/** What is said in a sandbox, without the secrets in it. A message is told again with each word it grows by, so what is known of its parts is kept. */
import type { Redactor } from '../redaction/redaction.ts'

interface Kept {
  source: string
  isGrowing: boolean
  state: object
  said: string
}

/** What lies further behind is cut off anyway, and a secret that begins before ends within this. */
const beyond = 64 * 1024

export class Said {
  readonly #redactor: Redactor
  readonly #kept = new WeakMap<object, Map<string, Kept>>()

  constructor(redactor: Redactor) {
    this.#redactor = redactor
  }

  /** `isGrowing`: more may follow, so an end that may become a secret waits for it. */
  field(part: object, name: string, text: string, { isGrowing, charsMax }: { isGrowing: boolean; charsMax: number }) {
    const fields = this.#kept.get(part) ?? new Map<string, Kept>()
    const before = fields.get(name)
    const { state } = this.#redactor
    if (before?.source === text && before.isGrowing === isGrowing && before.state === state) return before.said
    const isCut = text.length > charsMax + beyond
    const said =
      isGrowing || isCut
        ? this.#redactor.growing(isCut ? text.slice(0, charsMax + beyond) : text)
        : this.#redactor.text(text)
    fields.set(name, { source: text, isGrowing, state, said })
    this.#kept.set(part, fields)
    return said
  }

  text(text: string): string {
    return this.#redactor.text(text)
  }
}
