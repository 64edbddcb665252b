/** Values with the matchers made of them. Sessions that were given the same values share one set: it can be large. */
import { createHash } from 'node:crypto'
import { matchersOf, redactedCharsMin } from './known.ts'
import type { Matcher } from './matcher.ts'

export class ValueSet {
  readonly values: ReadonlyMap<string, string>
  #whole: Matcher[] | null = null
  #growing: Matcher[] | null = null

  /** By value, with the name that replaces it. */
  constructor(values: ReadonlyMap<string, string>) {
    this.values = values
  }

  /** For complete texts. */
  get whole(): Matcher[] {
    return (this.#whole ??= matchersOf(this.#named()))
  }

  /** For texts that grow. */
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

  /** These values beside those of `before`; the same set where all of them are in it. */
  with(before: ValueSet, added: Iterable<readonly [name: string, value: string]>): ValueSet {
    const values = new Map<string, string>()
    for (const [name, value] of added)
      if (value.length >= redactedCharsMin && !before.values.has(value) && !values.has(value)) values.set(value, name)
    if (values.size === 0) return before
    // The newest first: of more than a matcher holds, the oldest are left out.
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
