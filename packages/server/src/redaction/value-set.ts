/** Values with their matchers. Sessions with equal values share one set, because sets can be large. */
import { createHash } from 'node:crypto'
import { matchersOf, redactedCharsMin } from './known.ts'
import type { Matcher } from './matcher.ts'

export class ValueSet {
  readonly values: ReadonlyMap<string, string>
  #whole: Matcher[] | null = null
  #growing: Matcher[] | null = null

  /** Maps each value to the name that replaces it. */
  constructor(values: ReadonlyMap<string, string>) {
    this.values = values
  }

  /** For complete texts. */
  get whole(): Matcher[] {
    return (this.#whole ??= matchersOf(this.#named()))
  }

  /** For growing texts. */
  get growing(): Matcher[] {
    return (this.#growing ??= matchersOf(this.#named(), { inPieces: true }))
  }

  #named(): (readonly [string, string])[] {
    return [...this.values].map(([value, name]) => [name, value] as const)
  }
}

export const emptySet = new ValueSet(new Map())

export class ValueSets {
  readonly #sets = new Map<string, WeakRef<ValueSet>>()

  /** Adds values to a set. Returns the same set if it has them all. */
  with(before: ValueSet, added: Iterable<readonly [name: string, value: string]>): ValueSet {
    const values = new Map<string, string>()
    for (const [name, value] of added)
      if (value.length >= redactedCharsMin && !before.values.has(value) && !values.has(value)) values.set(value, name)
    if (values.size === 0) return before
    // Newest first, because a full matcher drops the oldest.
    for (const [value, name] of before.values) values.set(value, name)
    const key = keyOf(values)
    const known = this.#sets.get(key)?.deref()
    if (known !== undefined) return known
    for (const [old, set] of this.#sets) if (set.deref() === undefined) this.#sets.delete(old)
    const made = new ValueSet(values)
    this.#sets.set(key, new WeakRef(made))
    return made
  }
}

function keyOf(values: Map<string, string>): string {
  const hash = createHash('sha256')
  for (const entry of [...values].map((each) => JSON.stringify(each)).sort()) hash.update(entry).update('\n')
  return hash.digest('hex')
}
