/** Redacts the texts of a conversation. A growing message is presented repeatedly, so results are cached by part. */
import type { Redactor } from '../../redaction/redaction.ts'

interface Redacted {
  source: string
  changedAt: number
  isGrowing: boolean
  isQuiet: boolean
  state: object
  text: string
  /** How much of the source was released. It stays released while the text grows. */
  released: number
}

/** Text further behind is cut, and a secret that begins before the cut ends within this. */
const beyond = 64 * 1024
/** A text that has not grown for this long is released up to its last word. */
export const quietMs = 500

export class TranscriptRedactor {
  readonly #redactor: Redactor
  readonly #now: () => Date
  readonly #cache = new WeakMap<object, Map<string, Redacted>>()

  constructor(redactor: Redactor, now: () => Date) {
    this.#redactor = redactor
    this.#now = now
  }

  /** `isGrowing`: more text may follow, so the last characters are held back. */
  field(part: object, name: string, text: string, { isGrowing, charsMax }: { isGrowing: boolean; charsMax: number }) {
    const fields = this.#cache.get(part) ?? new Map<string, Redacted>()
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
      return before.text
    const isCut = text.length > charsMax + beyond
    const released = before !== undefined && text.startsWith(before.source) ? before.released : 0
    const shown =
      isGrowing || isCut
        ? this.#redactor.growing(isCut ? text.slice(0, charsMax + beyond) : text, { released, isQuiet })
        : { text: this.#redactor.text(text), released: text.length }
    fields.set(name, { source: text, changedAt, isGrowing, isQuiet, state, ...shown })
    this.#cache.set(part, fields)
    return shown.text
  }

  /** The runtime sent a whole part again; released text stays released. */
  replaced(before: object, part: object): void {
    const fields = this.#cache.get(before)
    if (fields !== undefined) this.#cache.set(part, fields)
  }

  /** Whether silence would release more of this part. */
  holdsBack(part: object): boolean {
    return [...(this.#cache.get(part)?.values() ?? [])].some(
      ({ source, isGrowing, isQuiet, released }) => isGrowing && !isQuiet && released < source.length,
    )
  }

  text(text: string): string {
    return this.#redactor.text(text)
  }
}
