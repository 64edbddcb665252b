/** Puts the unfinished work of sessions whose sandboxes ended for a move back into their next ones. */
import type { Deps } from '../../deps.ts'
import { recoverInSandbox } from '../../sandboxes/daemon-client.ts'
import { getSessionById } from '../../sessions/store.ts'
import { wipOf } from '../../sessions/unfinished-work/store.ts'
import { movesWithSessions, settleSession } from './store.ts'

/** Later than this, a person has gone on without it: it can still be recovered by hand. */
const lateMs = 15 * 60_000

/** Whether some still wait for their sandbox. */
export async function returnWork(deps: Deps, home: string): Promise<boolean> {
  let waits = false
  for (const move of await movesWithSessions(deps.db, home))
    for (const sessionId of move.sessions) {
      const isLate = deps.now().getTime() - Date.parse(move.phase_at) > lateMs
      if (!isLate && (await isToCome(deps, sessionId))) waits = true
      else await settleSession(deps.db, move.move_id, sessionId)
    }
  return waits
}

async function isToCome(deps: Deps, sessionId: string): Promise<boolean> {
  const session = await getSessionById(deps.db, sessionId)
  if (session?.status === 'provisioning') return true
  if (session?.status !== 'running') return false
  const saved = (await wipOf(deps.db, sessionId)).filter(({ recovered_at }) => recovered_at === null)
  if (saved.length === 0) return false
  const daemon = deps.sessions.daemonOf(sessionId)
  if (daemon === null) return true
  const outcome = await recoverInSandbox(daemon, {})
  if (outcome.kind === 'unavailable') return true
  deps.log.info({ session_id: sessionId, outcome: outcome.kind }, 'returned the unfinished work of a moved session')
  return false
}
