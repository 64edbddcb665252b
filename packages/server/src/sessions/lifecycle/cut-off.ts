/**
 * Sandboxes mount the folder of the server's socket. When it is removed and made again, those that ran before keep the old one,
 * without a socket, for good: each call of an agent would wait for a server.
 */
import { ServiceError } from '@svc/contract'
import { isUuid } from '../../auth/allow.ts'
import type { Deps } from '../../deps.ts'
import { getSandbox } from '../../sandboxes/store.ts'
import { deleteWarm } from '../warm/store.ts'
import { cutOffReason } from './reasons.ts'

type CutOffDeps = Pick<Deps, 'db' | 'log' | 'sandboxes' | 'sessions'>

/** Ends them: no session claims a warm one, and sessions start again with their saved work. */
export async function replaceCutOff(deps: CutOffDeps): Promise<void> {
  const { db, sandboxes: driver, log } = deps
  // Others reach the service by the link of the server, not by its socket.
  if (driver === null || driver.isElsewhere) return
  const before = (await driver.list()).map(({ sandboxId }) => sandboxId).filter(isUuid)
  if (before.length === 0) return
  const ofSessions: string[] = []
  for (const sandboxId of before)
    // Without its row it cannot be claimed. One that was claimed before is that of a session.
    if (await deleteWarm(db, sandboxId)) await driver.stop(sandboxId)
    else ofSessions.push(sandboxId)
  log.warn({ sessions: ofSessions.length }, 'sandboxes are cut off from the service; their sessions start again')
  const failed = (error: unknown) => log.error({ err: error }, 'failed to replace a sandbox that is cut off')
  await Promise.all(ofSessions.map((sandboxId) => replace(deps, sandboxId).catch(failed)))
}

async function replace({ db, sessions }: CutOffDeps, sandboxId: string): Promise<void> {
  const row = await getSandbox(db, sandboxId)
  if (row === null) return
  const { session_id: sessionId } = row
  if (sessions.abortStart(sessionId, new ServiceError('unavailable', cutOffReason))) return
  await sessions.moveAway(sessionId, cutOffReason)
  sessions.enqueue(sessionId)
}
