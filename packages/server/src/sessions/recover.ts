import { ServiceError } from '@svc/contract'
import { recordAudit } from '../audit/record.ts'
import type { Caller } from '../auth/actor.ts'
import type { Deps } from '../deps.ts'
import { auditOf } from './audit.ts'
import { recoverInSandbox } from './daemon-client.ts'
import type { SessionWithSandbox } from './store.ts'
import { markRecovered, wipOf } from './wip-store.ts'
import { readWip } from './wip.ts'

interface OnSession {
  session: SessionWithSandbox
  caller: Caller
}

export async function saveWipNow(
  deps: Pick<Deps, 'config' | 'db' | 'keeper' | 'keyring' | 'log'>,
  { session, caller }: OnSession,
) {
  const watch = deps.keeper.wipOf(session.session_id)
  if (watch === null) throw notRunning(session, 'What was saved last is kept; `svc sessions recover` brings it back.')
  const outcome = await watch.saveNow()
  if (outcome.kind === 'no-room') throw new ServiceError('quota_exceeded', outcome.reason)
  if (outcome.kind === 'failed')
    throw new ServiceError('unavailable', `The work could not be saved now: ${outcome.reason}`, {
      hint: 'What was saved before is kept.',
    })
  await recordAudit(deps.db, caller, auditOf(session, 'save'))
  return readWip(deps, session)
}

/** Whoever applied it elsewhere says so, and it is no longer shown. */
export async function settleWip(
  deps: Pick<Deps, 'db' | 'now'>,
  { session, caller, commit }: OnSession & { commit: string },
) {
  await deps.db.transaction().execute(async (trx) => {
    await markRecovered(trx, session.session_id, commit, deps.now())
    await recordAudit(trx, caller, auditOf(session, 'recovered', { after: { commit } }))
  })
}

/** Into the sandbox that runs: the client in it does the work, as the agent. */
export async function recoverWip(
  deps: Pick<Deps, 'db' | 'keeper'>,
  { session, caller }: OnSession,
): Promise<{ ok: true; files: number }> {
  const daemon = deps.keeper.daemonOf(session.session_id)
  if (daemon === null) throw notRunning(session, `Start it first: svc sessions restart ${session.session_id}`)
  if ((await wipOf(deps.db, session.session_id)).length === 0)
    throw new ServiceError('not_found', 'This session has no unfinished work.')
  const outcome = await recoverInSandbox(daemon)
  if (outcome.kind === 'away')
    throw new ServiceError('unavailable', `The sandbox did not take the work: ${outcome.reason}`, {
      hint: 'Nothing is lost: try again, or recover it into a clone of your own.',
    })
  if (outcome.kind === 'refused')
    throw new ServiceError('conflict', outcome.reason, {
      hint: 'Nothing was changed. `svc sessions recover <id> --branch <name>` puts the work on a branch of your own clone.',
    })
  await recordAudit(deps.db, caller, auditOf(session, 'recover', { after: { files: outcome.value.files } }))
  return outcome.value
}

function notRunning(session: SessionWithSandbox, hint: string): ServiceError {
  if (session.status === 'running')
    return new ServiceError('unavailable', 'The sandbox of this session is kept by another server.', {
      hint: 'What was saved last is kept; `svc sessions recover` brings it into a clone.',
    })
  return new ServiceError('conflict', `This session is ${session.status}, so there is no sandbox to work with.`, {
    hint,
    detail: { status: session.status },
  })
}
