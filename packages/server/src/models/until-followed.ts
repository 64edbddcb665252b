/**
 * After a start, agents ask for their models before the server follows their conversations again. An answer that begins
 * before that would be shown only once it is whole, because words between are unknown.
 */
import { ServiceError } from '@svc/contract'
import { withDeadline } from '../deadline.ts'
import type { SessionRunner } from '../deps.ts'
import { pause } from '../pause.ts'
import type { SessionRow } from '../sessions/store.ts'

const followMsMax = 30_000
const lookEveryMs = 50

/** Throws `unavailable` once the server stops: it follows no further conversation, and the next one answers. */
export async function untilFollowed(
  sessions: Pick<SessionRunner, 'followerOf' | 'isClosed'>,
  { session_id: sessionId, status }: Pick<SessionRow, 'session_id' | 'status'>,
  signal: AbortSignal,
): Promise<void> {
  if (status !== 'running') return
  const until = Date.now() + followMsMax
  while (Date.now() < until && !signal.aborted) {
    const hasCaughtUp = sessions.followerOf(sessionId)?.caughtUp.promise.then(() => true)
    if (hasCaughtUp !== undefined && (await withDeadline(hasCaughtUp, lookEveryMs, () => false))) return
    if (sessions.isClosed) throw new ServiceError('unavailable', 'This server is stopping.')
    if (hasCaughtUp === undefined) await pause(lookEveryMs, signal)
  }
}
