/** The texts of a conversation without the secrets in them. A message is presented again with each word it grows by, so what is known of its parts is kept. */
import type { Redactor } from '../redaction/redaction.ts'

interface Kept {
  source: string
  changedAt: number
  isGrowing: boolean
  isQuiet: boolean
  state: object
  said: string
  /** The part of the source that was shown. It stays shown while the text grows. */
  released: number
}

/** What lies further behind is cut off anyway, and a secret that begins before ends within this. */
const beyond = 64 * 1024
/** A text that has not grown for so long is shown up to its last word. */
export const quietMs = 500

export class Said {
  readonly #redactor: Redactor
  readonly #now: () => Date
  readonly #kept = new WeakMap<object, Map<string, Kept>>()

  constructor(redactor: Redactor, now: () => Date) {
    this.#redactor = redactor
    this.#now = now
  }

  /** `isGrowing`: more may follow, so the last characters stay back, however they read. */
  field(part: object, name: string, text: string, { isGrowing, charsMax }: { isGrowing: boolean; charsMax: number }) {
    const fields = this.#kept.get(part) ?? new Map<string, Kept>()
    const before = fields.get(name)
    const { state } = this.#redactor
    const now = this.#now().getTime()
    const changedAt = before?.source === text ? before.changedAt : now
    const isQuiet = isGrowing && now - changedAt >= quietMs
    if (
      before?.source === text &&
      before.isGrowing === isGrowing &&
      before.isQuiet === isQuiet &&
      before.state === state
    )
      return before.said
    const isCut = text.length > charsMax + beyond
    const released = before !== undefined && text.startsWith(before.source) ? before.released : 0
    const shown =
      isGrowing || isCut
        ? this.#redactor.growing(isCut ? text.slice(0, charsMax + beyond) : text, { released, isQuiet })
        : { text: this.#redactor.text(text), released: text.length }
    fields.set(name, {
      ...{ source: text, changedAt, isGrowing, isQuiet, state },
      ...{ said: shown.text, released: shown.released },
    })
    this.#kept.set(part, fields)
    return shown.text
  }

  /** The runtime sent a part again as a whole: what was shown of it stays shown. */
  replaced(before: object, part: object): void {
    const fields = this.#kept.get(before)
    if (fields !== undefined) this.#kept.set(part, fields)
  }

  /** Whether silence alone would show more of this part. */
  holdsBack(part: object): boolean {
    return [...(this.#kept.get(part)?.values() ?? [])].some(
      ({ source, isGrowing, isQuiet, released }) => isGrowing && !isQuiet && released < source.length,
    )
  }

  text(text: string): string {
    return this.#redactor.text(text)
  }
}
