import { ServiceError, sessionMoves, type SessionStatus } from '@svc/contract'
import { recordAudit } from '../audit/record.ts'
import { boundSession, type Caller } from '../auth/actor.ts'
import type { Deps } from '../deps.ts'
import '../failpoint.ts'
import { getProject } from '../projects/store.ts'
import { agentNamed, requireAgentToStart } from './agents.ts'
import { auditOf } from './audit.ts'
import { requireRoom } from './create.ts'
import { countStart, requireRoomBelowRoot } from './descendants.ts'
import {
  beginGeneration,
  deleteSessionRow,
  endSandboxes,
  getSessionById,
  lockSession,
  revokeCredentials,
  sandboxesOf,
  type SessionWithSandbox,
  updateSession,
} from './store.ts'

type StopDeps = Pick<Deps, 'db' | 'keeper' | 'now' | 'config' | 'disk' | 'sandboxes'>
type RestartDeps = StopDeps & Pick<Deps, 'keyring' | 'log'>

interface OnSession {
  session: SessionWithSandbox
  caller: Caller
}

/** Returns once the sandbox is gone. A session that is not alive is left as it is. */
export async function stopSession(deps: StopDeps, { session, caller }: OnSession): Promise<SessionWithSandbox> {
  await wantStopped(deps, { session, caller, action: 'stop' })
  return (await getSessionById(deps.db, session.session_id)) ?? gone()
}

/** The row goes, its change requests and its branch stay. */
export async function deleteSession(deps: StopDeps, { session, caller }: OnSession): Promise<void> {
  await wantStopped(deps, { session, caller, action: null })
  await failpoint('session.delete.before_row')
  await deps.db.transaction().execute(async (trx) => {
    await deleteSessionRow(trx, session.session_id, caller.actor)
    await recordAudit(trx, caller, auditOf(session, 'delete'))
  })
  await failpoint('session.delete.after_row')
}

/**
 * A new generation from the branch as it is now; the old one's tokens end in the same transaction. With `agent` another
 * one works from then on, null being the default agent.
 */
export async function restartSession(
  deps: RestartDeps,
  { session, caller, agent }: OnSession & { agent?: string | null | undefined },
): Promise<SessionWithSandbox> {
  const from: readonly SessionStatus[] = sessionMoves.restart.from
  if (!from.includes(session.status))
    throw new ServiceError('conflict', `This session is ${session.status}, so it cannot be restarted now.`, {
      detail: { status: session.status },
    })
  const agentName = agent === undefined ? session.agent_name : agentNamed(agent)
  // Before anything of the running sandbox ends.
  await requireAgentToStart(deps, session, agentName)
  await failpoint('session.restart.before_row')
  const isOther = agentName !== session.agent_name
  const change = isOther ? { before: { agent: session.agent_name }, after: { agent: agentName } } : {}
  const began = await startAgain(deps, { session, caller, agentName }, async (trx) =>
    recordAudit(trx, caller, auditOf(session, 'restart', change)),
  )
  await failpoint('session.restart.after_row')
  if (!began) throw new ServiceError('conflict', 'This session was started again by somebody else just now.')
  deps.keeper.kick(session.session_id)
  return (await getSessionById(deps.db, session.session_id)) ?? gone()
}

/** Ends the old generation and begins the next, unless somebody did that since `session` was read. `alongside` writes in the same transaction. */
export async function startAgain(
  deps: StopDeps,
  { session, caller, agentName }: OnSession & { agentName?: string },
  alongside: (trx: Parameters<typeof requireRoom>[1]) => Promise<void>,
): Promise<boolean> {
  if (session.status === 'running') await endNow(deps, session)
  return deps.db.transaction().execute(async (trx) => {
    const now = await lockSession(trx, session.session_id, 'update')
    if (now === null) return gone()
    if (now.generation !== session.generation) return false
    await requireRoom(deps, trx, session.account_id)
    await requireRoomBelowRoot(trx, session)
    const project = boundSession(caller.actor) === null ? null : await getProject(trx, session.project_id)
    if (project !== null) await countStart(trx, { ...session, settings: project.settings })
    await revokeCredentials(trx, session.session_id, deps.now())
    await endSandboxes(trx, session.session_id, 'stopped', null)
    if (agentName !== undefined) await updateSession(trx, session.session_id, { agent_name: agentName })
    await beginGeneration(trx, session.session_id, caller.actor)
    await alongside(trx)
    return true
  })
}

async function endNow(deps: StopDeps, session: SessionWithSandbox): Promise<void> {
  await updateSession(deps.db, session.session_id, { desired: 'stopped' })
  deps.keeper.interrupt(session.session_id)
  await deps.keeper.settle(session.session_id)
}

async function wantStopped(deps: StopDeps, input: OnSession & { action: 'stop' | null }): Promise<void> {
  const { session, caller, action } = input
  await deps.db.transaction().execute(async (trx) => {
    await updateSession(trx, session.session_id, { desired: 'stopped' })
    // Nobody waits for the sandbox to end before its credentials do.
    await revokeCredentials(trx, session.session_id, deps.now())
    if (action !== null) await recordAudit(trx, caller, auditOf(session, action))
  })
  await failpoint('session.stop.after_wish')
  deps.keeper.interrupt(session.session_id)
  await deps.keeper.settle(session.session_id)
  await failpoint('session.stop.after_sandbox')
  // A failed session can have left a sandbox when the server died while it cleaned up.
  for (const row of await sandboxesOf(deps.db, session.session_id)) await deps.sandboxes?.stop(row.sandbox_id)
}

function gone(): never {
  throw new ServiceError('not_found', 'There is no such session.')
}
