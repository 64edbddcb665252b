/**
 * After a start, agents ask for their models before the server follows their conversations again. An answer that begins
 * before that would be shown only once it is whole, because words between are unknown.
 */
import { withDeadline } from '../deadline.ts'
import type { SessionRunner } from '../deps.ts'
import { pause } from '../pause.ts'
import type { SessionRow } from '../sessions/store.ts'

const followMsMax = 30_000
const lookEveryMs = 50

export async function untilFollowed(
  sessions: Pick<SessionRunner, 'followerOf'>,
  { session_id: sessionId, status }: Pick<SessionRow, 'session_id' | 'status'>,
  signal: AbortSignal,
): Promise<void> {
  if (status !== 'running') return
  const until = Date.now() + followMsMax
  while (sessions.followerOf(sessionId) === undefined && Date.now() < until && !signal.aborted)
    await pause(lookEveryMs, signal)
  const caughtUp = sessions.followerOf(sessionId)?.caughtUp.promise
  if (caughtUp !== undefined) await withDeadline(caughtUp, until - Date.now(), () => {})
}
