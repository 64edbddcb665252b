import { ServiceError } from '@svc/contract'

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

export function readCursor(cursor: string | undefined): [string, string] | null {
  if (cursor === undefined) return null
  try {
    const parts: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8'))
    if (
      Array.isArray(parts) &&
      parts.length === 2 &&
      typeof parts[0] === 'string' &&
      typeof parts[1] === 'string' &&
      !Number.isNaN(Date.parse(parts[0]))
    )
      return [parts[0], parts[1]]
  } catch {
    // Falls through to the same refusal: what is not ours is not a cursor.
  }
  throw invalidCursor()
}

export function invalidCursor(): ServiceError {
  return new ServiceError('invalid', 'The cursor is not one this list gave.', {
    detail: { issues: [{ path: 'cursor', message: 'is not valid' }] },
  })
}
