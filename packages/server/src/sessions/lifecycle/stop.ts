import { ServiceError, sessionMoves, type SessionStatus } from '@svc/contract'
import { recordAudit } from '../../audit/record.ts'
import { boundSession, type Caller } from '../../auth/actor.ts'
import { notFound } from '../../auth/allow.ts'
import type { Deps } from '../../deps.ts'
import '../../failpoint.ts'
import { getProject } from '../../projects/store.ts'
import { agentNamed, requireAgentToStart } from '../agents.ts'
import { auditOf } from '../audit.ts'
import { refuseTooManySessions } from '../create/create.ts'
import { countAgentStart, refuseTooManyDescendants } from '../descendant-store.ts'
import {
  beginGeneration,
  deleteSessionRow,
  getSessionById,
  lockSession,
  type SessionWithSandbox,
  updateSession,
} from '../store.ts'
import { sandboxesOf } from '../../sandboxes/store.ts'
import { goOnFor } from './acts-for.ts'
import { endGeneration, revokeCredentials } from './end-generation.ts'

type StopDeps = Pick<Deps, 'db' | 'sessions' | 'now' | 'config' | 'disk' | 'sandboxes'>
type RestartDeps = StopDeps & Pick<Deps, 'keyring' | 'log'>

interface OnSession {
  session: SessionWithSandbox
  caller: Caller
}

interface OnItsSandbox extends OnSession {
  /** Whether work that cannot be saved may be lost. */
  discard: boolean
}

export async function stopSession(
  deps: StopDeps,
  { session, caller, discard }: OnItsSandbox,
): Promise<SessionWithSandbox> {
  if (!discard) await requireSavedWork(deps, session)
  await endSession(deps, { session, caller, action: 'stop' })
  return (await getSessionById(deps.db, session.session_id)) ?? Promise.reject(notFound('session'))
}

/** Deletes the session, but not its branch and change requests. */
export async function deleteSession(deps: StopDeps, { session, caller, discard }: OnItsSandbox): Promise<void> {
  if (!discard) await requireSavedWork(deps, session)
  await endSession(deps, { session, caller, action: null })
  await failpoint('session.delete.before_row')
  await deps.db.transaction().execute(async (trx) => {
    if (await deleteSessionRow(trx, session.session_id, caller.actor))
      await recordAudit(trx, caller, auditOf(session, 'delete'))
  })
  await failpoint('session.delete.after_row')
}

/** Starts a new generation from the current branch. `agent` selects another agent; null is the default agent. */
export async function restartSession(
  deps: RestartDeps,
  { session, caller, agent, discard }: OnItsSandbox & { agent?: string | null | undefined },
): Promise<SessionWithSandbox> {
  const from: readonly SessionStatus[] = sessionMoves.restart.from
  if (!from.includes(session.status))
    throw new ServiceError('conflict', `This session is ${session.status}, so it cannot be restarted now.`, {
      detail: { status: session.status },
    })
  const agentName = agent === undefined ? session.agent_name : agentNamed(agent)
  await requireAgentToStart(deps, session, agentName)
  if (!discard) await requireSavedWork(deps, session)
  await failpoint('session.restart.before_row')
  const isOther = agentName !== session.agent_name
  const change = isOther ? { before: { agent: session.agent_name }, after: { agent: agentName } } : {}
  const began = await startAgain(deps, { session, caller, agentName }, async (trx) =>
    recordAudit(trx, caller, auditOf(session, 'restart', change)),
  )
  await failpoint('session.restart.after_row')
  if (!began) throw new ServiceError('conflict', 'Another request restarted this session just now.')
  deps.sessions.enqueue(session.session_id)
  return (await getSessionById(deps.db, session.session_id)) ?? Promise.reject(notFound('session'))
}

/** Ends the old generation and begins the next, unless another request did. `alongside` writes in the same transaction. */
export async function startAgain(
  deps: StopDeps,
  { session, caller, agentName }: OnSession & { agentName?: string },
  alongside: (trx: Parameters<typeof refuseTooManySessions>[1]) => Promise<void>,
): Promise<boolean> {
  if (session.status === 'running') await endNow(deps, session)
  return deps.db.transaction().execute(async (trx) => {
    const now = await lockSession(trx, session.session_id, 'update')
    if (now === null) throw notFound('session')
    if (now.generation !== session.generation) return false
    await refuseTooManySessions(deps, trx, session.account_id)
    await refuseTooManyDescendants(trx, session)
    const project = boundSession(caller.actor) === null ? null : await getProject(trx, session.project_id)
    if (project !== null) await countAgentStart(trx, { ...session, settings: project.settings })
    await endGeneration(trx, session.session_id, { status: 'stopped', error: null, at: deps.now() })
    if (agentName !== undefined) await updateSession(trx, session.session_id, { agent_name: agentName })
    await goOnFor(trx, session, caller)
    await beginGeneration(trx, session.session_id, caller.actor)
    await alongside(trx)
    return true
  })
}

/** Before anything is changed, so that a refusal leaves the session as it is. */
async function requireSavedWork(
  { sessions }: Pick<Deps, 'sessions'>,
  { session_id: sessionId }: Pick<SessionWithSandbox, 'session_id'>,
): Promise<void> {
  const why = (await sessions.wipOf(sessionId)?.saveBeforeEnd()) ?? null
  if (why === null) return
  throw new ServiceError('work_not_saved', `The session still runs, because its newest work cannot be saved. ${why}`, {
    hint: 'Push the work, or try again once it can be saved. With `discard=true` the session ends, and the work is lost.',
  })
}

async function endNow(deps: StopDeps, session: SessionWithSandbox): Promise<void> {
  await updateSession(deps.db, session.session_id, { desired: 'stopped' })
  deps.sessions.interrupt(session.session_id)
  await deps.sessions.reconcile(session.session_id)
}

async function endSession(deps: StopDeps, input: OnSession & { action: 'stop' | null }): Promise<void> {
  const { session, caller, action } = input
  await deps.db.transaction().execute(async (trx) => {
    await updateSession(trx, session.session_id, { desired: 'stopped' })
    // The credentials end at once, even if the sandbox takes longer.
    await revokeCredentials(trx, session.session_id, deps.now())
    if (action !== null) await recordAudit(trx, caller, auditOf(session, action))
  })
  await failpoint('session.stop.after_wish')
  deps.sessions.interrupt(session.session_id)
  await deps.sessions.reconcile(session.session_id)
  await failpoint('session.stop.after_sandbox')
  // Another request may have started it again meanwhile.
  if (action === 'stop' && (await getSessionById(deps.db, session.session_id))?.desired === 'running') return
  // A crash during the cleanup of a failed session can leave a sandbox.
  for (const row of await sandboxesOf(deps.db, session.session_id)) await deps.sandboxes?.stop(row.sandbox_id)
}
