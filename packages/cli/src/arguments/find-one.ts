/** Finds the one item that an argument names: by its id, by a unique name, or by the start of its id. */
import { Refusal, UsageError } from '../errors.ts'

export const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

/** A shorter prefix can too easily match a second item later. */
const prefixMin = 4
const idsShown = 10

interface Kind<T> {
  /** The singular and the plural for messages. */
  what: readonly [one: string, several: string]
  id(item: T): string
  /** Whether `given` is its name or address. */
  isNamed?(item: T): boolean
  next: readonly string[]
  /** Requires the whole id: users refer to accounts, members and projects by name. */
  wholeId?: true
  hint?: string | undefined
}

export function findOne<T>(items: readonly T[], given: string, kind: Kind<T>): T {
  const [one, several] = kind.what
  const found = matching(items, given, kind)
  if (found.length === 1) return found[0]!
  const { next, hint, wholeId } = kind
  const shown = JSON.stringify(given)
  if (found.length > 1) {
    const ids = found.slice(0, idsShown).map((item) => kind.id(item))
    throw new Refusal('ambiguous', `${found.length} ${several} match ${shown}`, {
      hint: `Give one of these ids: ${ids.join(', ')}.`,
      detail: { [several.replaceAll(' ', '_')]: ids },
      next,
    })
  }
  if (!wholeId && /^[0-9a-f-]*$/i.test(given) && given.length < prefixMin)
    throw new UsageError(`${shown} is too short for the id of a ${one}`, {
      hint: `Give at least ${prefixMin} characters.`,
      next,
    })
  throw new Refusal('not_found', `No ${one} matches ${shown}`, { hint, next })
}

/** A whole id wins over a name, and a name over the start of an id. */
export function matching<T>(items: readonly T[], given: string, { id, isNamed, wholeId }: Kind<T>): T[] {
  const prefix = given.toLowerCase()
  const exact = items.filter((item) => id(item) === prefix)
  if (exact.length > 0) return exact
  const named = isNamed === undefined ? [] : items.filter(isNamed)
  if (named.length > 0 || wholeId || prefix.length < prefixMin) return named
  return items.filter((item) => id(item).startsWith(prefix))
}
