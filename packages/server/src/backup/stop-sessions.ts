/** Sessions that ran in the original do not run in the copy. */
import type { DbOrTransaction } from '../db/schema.ts'
import { endGeneration } from '../sessions/lifecycle/end-generation.ts'
import { liveSessions, liveStatuses, moveSession } from '../sessions/store.ts'

/** In the transaction that makes the copy usable. Returns how many. */
export async function stopSessions(
  trx: DbOrTransaction,
  { reason, at }: { reason: string; at: Date },
): Promise<number> {
  const live = await liveSessions(trx)
  for (const { session_id: sessionId, generation } of live) {
    const to = 'stopped' as const
    await moveSession(trx, { sessionId, generation, from: liveStatuses, to, error: reason, desired: to })
    await endGeneration(trx, sessionId, { status: 'stopped', error: reason, at })
  }
  return live.length
}
