/** Access control: the server authenticates with SVC_TOKEN, a user with a context that the server signed. */
import { timingSafeEqual } from 'node:crypto'

import {
  readUserContext,
  type UserContext,
  userContextHeader,
  userContextKey,
  userContextSecondsMax,
} from '@svc/contract/daemon/control'
import { headerLines } from '@svc/contract/daemon/raw-headers'

export interface RequestHead {
  method: string
  /** Path and query exactly as in the request line. */
  path: string
  rawHeaders: string[]
}

type AccessOutcome = { kind: 'allowed'; user: UserContext | null } | { kind: 'refused'; reason: string }

export type Access = Awaited<ReturnType<typeof createAccess>>

// One minute at 1,000 requests a second. At the limit every request is refused: forgetting an id would allow a
// replay.
const seenMax = 60_000
/** Allows for clock differences between two machines. */
const skewSeconds = 5

export async function createAccess(options: {
  token: string
  sessionId: string
  generation: number
  nowMs?: () => number
}) {
  const key = await userContextKey(options.token)
  const expected = Buffer.from(`Bearer ${options.token}`)
  const nowSeconds = () => (options.nowMs ?? Date.now)() / 1000
  const seen = new Map<string, number>()

  function isBearer(head: RequestHead): boolean {
    const lines = headerLines(head.rawHeaders, 'authorization')
    const given = Buffer.from(lines[0] ?? '')
    // Lengths are not secret; the comparison of equal lengths takes constant time.
    return lines.length === 1 && given.length === expected.length && timingSafeEqual(given, expected)
  }

  async function user(head: RequestHead): Promise<AccessOutcome> {
    const lines = headerLines(head.rawHeaders, userContextHeader)
    if (lines.length === 0) return refused('No user context was sent.')
    // Two headers are a smuggling attempt: each reader might pick a different one.
    if (lines.length > 1) return refused('More than one user context was sent.')
    const context = await readUserContext(key, lines[0]!)
    if (context === null) return refused('The user context is not signed for this sandbox.')
    return judge(context, head)
  }

  function judge(context: UserContext, head: RequestHead): AccessOutcome {
    const now = nowSeconds()
    const { iat, exp, jti } = context
    if (!Number.isFinite(iat) || !Number.isFinite(exp) || typeof jti !== 'string' || jti === '' || jti.length > 128) {
      return refused('The user context is incomplete.')
    }
    if (exp <= now) return refused('The user context has expired.')
    if (
      iat > now + skewSeconds ||
      exp - iat > userContextSecondsMax ||
      exp > now + userContextSecondsMax + skewSeconds
    ) {
      return refused('The user context is valid for too long.')
    }
    if (context.session_id !== options.sessionId) return refused('The user context is for another session.')
    if (context.generation !== options.generation) return refused('The user context is for another sandbox.')
    if (context.method !== head.method) return refused('The user context is for another method.')
    if (context.path !== head.path) return refused('The user context is for another path.')
    for (const [old, until] of seen) {
      // Ids are in order of arrival, so nearly in order of expiry: all later ones are younger.
      if (until > now) break
      seen.delete(old)
    }
    if (seen.has(jti)) return refused('The user context was already used.')
    if (seen.size >= seenMax) return refused('Too many requests in the last minute.')
    seen.set(jti, now + userContextSecondsMax + skewSeconds)
    return { kind: 'allowed', user: context }
  }

  return {
    /** A user with a signed context; for every route but the control routes. */
    user,
    /** The server or a user; for the control routes. */
    async control(head: RequestHead): Promise<AccessOutcome> {
      return isBearer(head) ? { kind: 'allowed', user: null } : user(head)
    },
  }
}

const refused = (reason: string): AccessOutcome => ({ kind: 'refused', reason })
