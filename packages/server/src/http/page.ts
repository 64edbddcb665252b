import { type ListPages, ServiceError } from '@svc/contract'
import { isUuid } from '../auth/allow.ts'

/** A list reply with the cursor of its next page, which `mount` puts into the Link header. */
export class Page<Body> {
  readonly body: Body
  readonly next: string | null
  constructor(body: Body, next: string | null) {
    this.body = body
    this.next = next
  }
}

/** Takes rows queried with `limit + 1`; the extra row shows that there is a next page. */
export function cutPage<T>(rows: T[], limit: number, namesOf: (last: T) => (string | number)[]) {
  if (rows.length <= limit) return { rows, next: null }
  const page = rows.slice(0, limit)
  return { rows: page, next: cursorOf(namesOf(page.at(-1)!)) }
}

export function cursorOf(parts: (string | number)[]): string {
  return Buffer.from(JSON.stringify(parts)).toString('base64url')
}

/** Time and name of the last row of a page. The time has the format `cutPage` writes; the caller checks the name. */
export function readCursor(cursor: string | undefined): [string, string] | null {
  const pair = readPair(cursor)
  if (pair !== null && !isOurTime(pair[0])) throw invalidCursor()
  return pair
}

/** Two texts as `cutPage` wrote them; the caller checks what they are. */
export function readPair(cursor: string | undefined): [string, string] | null {
  if (cursor === undefined) return null
  const [first, second] = readParts(cursor, 2)
  if (typeof first !== 'string' || typeof second !== 'string') throw invalidCursor()
  return [first, second]
}

/** The parts of a cursor as they were written; the caller checks what they are. */
export function readParts(cursor: string, count: number): unknown[] {
  let parts: unknown
  try {
    parts = JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8'))
  } catch {
    throw invalidCursor()
  }
  if (!Array.isArray(parts) || parts.length !== count) throw invalidCursor()
  return parts
}

/** A cursor of a list whose rows are named by UUIDs, as the database compares it as one. */
export function readIdCursor(cursor: string | undefined): [string, string] | null {
  const after = readCursor(cursor)
  if (after !== null && !isUuid(after[1])) throw invalidCursor()
  return after
}

function isOurTime(text: string): boolean {
  return /^(?!0000)\d{4}-/.test(text) && !Number.isNaN(Date.parse(text)) && new Date(text).toISOString() === text
}

export function invalidCursor(): ServiceError {
  return new ServiceError('invalid', 'This cursor does not belong to this list.', {
    detail: { issues: [{ path: 'cursor', message: 'is not valid' }] },
  })
}

/**
 * Cuts a page from a list that its handler returned whole. A cursor holds the last entry's name and position: when
 * that entry is deleted, the next page starts at its position.
 */
export function cutWhole(
  { list, by }: ListPages,
  { limit, cursor }: { limit?: number | undefined; cursor?: string | undefined },
  body: unknown,
): Page<unknown> {
  const whole = (list === null ? body : (body as Record<string, unknown>)[list]) as Record<string, unknown>[]
  const nameOf = (entry: Record<string, unknown>) => String(entry[by])
  const start = startAfter(whole.map(nameOf), cursor)
  const end = limit === undefined ? whole.length : start + limit
  const entries = whole.slice(start, end)
  const isLast = end >= whole.length || entries.length === 0
  const next = isLast ? null : cursorOf([end - 1, nameOf(entries.at(-1)!)])
  return new Page(list === null ? entries : { ...(body as object), [list]: entries }, next)
}

function startAfter(names: string[], cursor: string | undefined): number {
  if (cursor === undefined) return 0
  const [place, name] = readParts(cursor, 2)
  if (typeof place !== 'number' || !Number.isSafeInteger(place) || place < 0 || typeof name !== 'string')
    throw invalidCursor()
  const at = names[place] === name ? place : names.indexOf(name)
  return at === -1 ? place : at + 1
}
