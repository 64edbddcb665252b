import { ServiceError } from '@svc/contract'
import { recordAudit } from '../../audit/record.ts'
import type { Caller } from '../../auth/actor.ts'
import type { Deps } from '../../deps.ts'
import { auditOf } from '../audit.ts'
import type { ProjectRow } from '../../projects/store.ts'
import { recoverInSandbox } from '../../sandboxes/daemon-client.ts'
import { booting } from '../files/in-sandbox.ts'
import type { SessionWithSandbox } from '../store.ts'
import { judgeWork, lostError } from './lost.ts'
import { allWorkOf, markApplied, markRecovered } from './store.ts'
import { readWip, storeOf } from './wip.ts'

/** A save takes longer only in a large work tree or in a sandbox that does not answer. */
const staleMsMax = 5_000

interface OnSession {
  session: SessionWithSandbox
  caller: Caller
}

export async function saveWipNow(
  deps: Pick<Deps, 'config' | 'db' | 'sessions' | 'keyring' | 'log'>,
  { session, caller }: OnSession,
) {
  const watch = deps.sessions.wipOf(session.session_id)
  if (watch === null) throw notRunning(session, 'The last save is stored; `svc sessions recover` restores it.')
  const outcome = await watch.saveNow()
  if (outcome.kind === 'no-space') throw new ServiceError('quota_exceeded', outcome.reason)
  if (outcome.kind === 'failed')
    throw new ServiceError('unavailable', `Saving the work failed: ${outcome.reason}`, {
      hint: 'The previous save is still stored.',
    })
  await recordAudit(deps.db, caller, auditOf(session, 'save'))
  return readWip(deps, session)
}

/** Waits for a save of the latest changes, such as at the end of a turn or a stop, and says so when it has none. */
export async function readNewestWip(
  deps: Pick<Deps, 'config' | 'db' | 'sessions' | 'keyring' | 'log'>,
  session: SessionWithSandbox,
) {
  const stale = (await deps.sessions.wipOf(session.session_id)?.whyStale(staleMsMax)) ?? null
  const work = await readWip(deps, session)
  return stale === null ? work : { ...work, notes: [...work.notes, stale] }
}

/**
 * Hides work that the caller recovered elsewhere. A sandbox of the session has it in memory alone until its next save,
 * so there it is hidden after that.
 */
export async function markWipRecovered(
  deps: Pick<Deps, 'db' | 'now' | 'sessions'>,
  { session, caller, commit }: OnSession & { commit: string },
) {
  const generation = ownGeneration(session, caller)
  await deps.db.transaction().execute(async (trx) => {
    if (generation === null) await markRecovered(trx, session.session_id, commit, deps.now())
    else await markApplied(trx, { sessionId: session.session_id, commit, generation })
    await recordAudit(trx, caller, auditOf(session, 'recovered', { after: { commit } }))
  })
  if (generation !== null) deps.sessions.wipOf(session.session_id)?.saveSoon()
}

/** Null: the caller is not the session's own sandbox. */
function ownGeneration(session: SessionWithSandbox, { actor }: Caller): number | null {
  if (actor.kind !== 'project' && actor.kind !== 'sandbox') return null
  return actor.session_id === session.session_id ? actor.generation : null
}

/** Recovers into the running sandbox, where the daemon applies the work as the agent. */
export async function recoverWip(
  deps: Pick<Deps, 'config' | 'db' | 'sessions'>,
  { project, session, caller }: OnSession & { project: ProjectRow },
): Promise<{ ok: true; files: number }> {
  const daemon = deps.sessions.daemonOf(session.session_id)
  if (daemon === null && session.status === 'provisioning') throw booting()
  if (daemon === null) throw notRunning(session, `Start it first: svc sessions restart ${session.session_id}`)
  const { saved, lost } = await judgeWork(storeOf(deps, project), await allWorkOf(deps.db, session.session_id))
  const hasEarlier = saved.some(({ generation }) => generation !== daemon.generation)
  const lostEarlier = lost.find(({ recovered_at }) => recovered_at === null)
  if (!hasEarlier && lostEarlier !== undefined) throw lostError(lostEarlier)
  if (saved.length === 0) throw new ServiceError('not_found', 'This session has no unfinished work.')
  const outcome = await recoverInSandbox(daemon, {})
  if (outcome.kind === 'unavailable')
    throw new ServiceError('unavailable', `The sandbox did not apply the work: ${outcome.reason}`, {
      hint: 'The work is still stored: try again, or recover it into your own clone.',
    })
  if (outcome.kind === 'refused')
    throw new ServiceError('conflict', outcome.reason, {
      hint: 'Nothing was changed. `svc sessions recover <id> --branch <name>` puts the work on a branch in your own clone.',
    })
  await recordAudit(deps.db, caller, auditOf(session, 'recover', { after: { files: outcome.value.files } }))
  return outcome.value
}

function notRunning(session: SessionWithSandbox, hint: string): ServiceError {
  if (session.status === 'running')
    return new ServiceError('unavailable', 'Another server runs the sandbox of this session.', {
      hint: 'The last save is stored; `svc sessions recover` restores it into a clone.',
    })
  return new ServiceError('conflict', `This session is ${session.status}, so there is no sandbox to work with.`, {
    hint,
    detail: { status: session.status },
  })
}
