import { ServiceError } from '@svc/contract'
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

/** Rows asked for with one more than `limit`; the one more tells that there is a next page. */
export function cutPage<T>(
  rows: T[],
  limit: number,
  cursorOf: (last: T) => (string | number)[],
): { rows: T[]; next: string | null } {
  if (rows.length <= limit) return { rows, next: null }
  const kept = rows.slice(0, limit)
  return { rows: kept, next: Buffer.from(JSON.stringify(cursorOf(kept.at(-1)!))).toString('base64url') }
}

/** Time and name of the last row of a page. The time is one `cutPage` could have written; what names the row is the caller's to check. */
export function readCursor(cursor: string | undefined): [string, string] | null {
  const pair = readPair(cursor)
  if (pair !== null && !isOurTime(pair[0])) throw invalidCursor()
  return pair
}

/** Two texts, as `cutPage` wrote them; what they are is the caller's to check. */
export function readPair(cursor: string | undefined): [string, string] | null {
  if (cursor === undefined) return null
  let parts: unknown
  try {
    parts = JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8'))
  } catch {
    throw invalidCursor()
  }
  if (!Array.isArray(parts) || parts.length !== 2) throw invalidCursor()
  const [first, second] = parts as unknown[]
  if (typeof first !== 'string' || typeof second !== 'string') throw invalidCursor()
  return [first, second]
}

/** A cursor of a list whose rows are named by UUIDs: the database compares it as one. */
export function readIdCursor(cursor: string | undefined): [string, string] | null {
  const after = readCursor(cursor)
  if (after !== null && !isUuid(after[1])) throw invalidCursor()
  return after
}

function isOurTime(text: string): boolean {
  return /^(?!0000)\d{4}-/.test(text) && !Number.isNaN(Date.parse(text)) && new Date(text).toISOString() === text
}

export function invalidCursor(): ServiceError {
  return new ServiceError('invalid', 'The cursor is not one this list gave.', {
    detail: { issues: [{ path: 'cursor', message: 'is not valid' }] },
  })
}
