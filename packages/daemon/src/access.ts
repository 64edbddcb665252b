/** Who may pass: the server with SVC_TOKEN, or a user with a context that the server signed. */
import { timingSafeEqual } from 'node:crypto'

import {
  readUserContext,
  type UserContext,
  userContextHeader,
  userContextKey,
  userContextSecondsMax,
} from '@svc/contract/daemon'
import { headerLines } from '@svc/contract/raw-headers'

export interface RequestHead {
  method: string
  /** Path and query exactly as they stood in the request line. */
  path: string
  rawHeaders: string[]
}

export type AccessOutcome = { kind: 'allowed'; user: UserContext | null } | { kind: 'refused'; reason: string }

export interface Access {
  /** The server itself or a user: for the control routes. */
  control(head: RequestHead): Promise<AccessOutcome>
  /** A user, and only by a signed context: for everything else. */
  user(head: RequestHead): Promise<AccessOutcome>
}

// A minute of 1,000 requests a second. Past it nothing passes: forgetting one would let it be played again.
const seenMax = 60_000
/** Clocks of two machines differ a little. */
const skewSeconds = 5

export async function createAccess(options: {
  token: string
  sessionId: string
  generation: number
  nowMs?: () => number
}): Promise<Access> {
  const key = await userContextKey(options.token)
  const expected = Buffer.from(`Bearer ${options.token}`)
  const nowSeconds = () => (options.nowMs ?? Date.now)() / 1000
  const seen = new Map<string, number>()

  function isBearer(head: RequestHead): boolean {
    const lines = headerLines(head.rawHeaders, 'authorization')
    const given = Buffer.from(lines[0] ?? '')
    // Lengths are no secret; the compare of equal lengths takes the same time whatever differs.
    return lines.length === 1 && given.length === expected.length && timingSafeEqual(given, expected)
  }

  async function user(head: RequestHead): Promise<AccessOutcome> {
    const lines = headerLines(head.rawHeaders, userContextHeader)
    if (lines.length === 0) return refused('No user context was sent.')
    // Two lines are a smuggling attempt: which of them counts would depend on who reads.
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
      // Entered in the order of arrival, so nearly in the order of expiry: the rest is younger.
      if (until > now) break
      seen.delete(old)
    }
    if (seen.has(jti)) return refused('The user context was used before.')
    if (seen.size >= seenMax) return refused('Too many requests in the last minute.')
    seen.set(jti, now + userContextSecondsMax + skewSeconds)
    return { kind: 'allowed', user: context }
  }

  return {
    user,
    async control(head) {
      return isBearer(head) ? { kind: 'allowed', user: null } : user(head)
    },
  }
}

const refused = (reason: string): AccessOutcome => ({ kind: 'refused', reason })
