/**
 * Unfinished work that a start begins with: what a session brings from the one it continues, stored like the work of an
 * earlier start, and what was saved of a session whose server was taken over. It is put into the work tree before the
 * first prompt.
 */
import { dropKeptRef, keepRef } from '@svc/git'
import type { DbOrTransaction } from '../../db/schema.ts'
import type { Deps } from '../../deps.ts'
import { acknowledge, type AcknowledgeDeps } from '../../projects/acknowledge.ts'
import { getProjectOrDeleted, type ProjectRow } from '../../projects/store.ts'
import type { Redactor } from '../../redaction/redaction.ts'
import { type DaemonAddress, type DaemonOutcome, recoverInSandbox } from '../../sandboxes/daemon-client.ts'
import { hasAnswer } from '../conversation/message-store.ts'
import type { CarriedWork } from '../create/continue-from.ts'
import { appendPhase } from '../lifecycle/store.ts'
import { lostMessage, recordJudged } from './lost.ts'
import { copySnapshot } from './snapshot-store.ts'
import { endReturn, upsertWip, type WipRow, wipOf } from './store.ts'
import { hidden, refOf, storeOf } from './wip.ts'

type KeepDeps = AcknowledgeDeps & Pick<Deps, 'config'>

/** Before the first start, which is generation 1. */
const carriedGeneration = 0

export function insertCarriedWork(
  trx: DbOrTransaction,
  { sessionId, work, at }: { sessionId: string; work: CarriedWork; at: Date },
): Promise<void> {
  return upsertWip(trx, {
    session_id: sessionId,
    generation: carriedGeneration,
    ...work,
    paths: JSON.stringify(work.paths),
    notes: '[]',
    saved_at: at,
    recovered_at: null,
    recovered_into: null,
  })
}

export async function keepCarriedWork(
  deps: KeepDeps,
  { project, sessionId, work }: { project: ProjectRow; sessionId: string; work: CarriedWork },
): Promise<void> {
  const store = storeOf(deps, project)
  await keepRef(store, refOf(sessionId), work.commit_sha)
  const snapshot = { project_id: project.project_id, session_id: sessionId, commit_sha: work.commit_sha }
  const refs = [hidden(refOf(sessionId))]
  await acknowledge(deps, { project, store, refs, sessionId }, (db) => copySnapshot(db, snapshot))
}

/** After a session that was not created. */
export async function dropCarriedWork(
  deps: KeepDeps,
  { project, sessionId }: { project: ProjectRow; sessionId: string },
): Promise<void> {
  const store = storeOf(deps, project)
  await dropKeptRef(store, refOf(sessionId))
  await acknowledge(deps, { project, store, refs: [hidden(refOf(sessionId))], sessionId }, async () => {})
}

interface CarriedInto {
  daemon: DaemonAddress
  projectId: string
  redactor: Redactor
  carryTries: number
}

/**
 * False when the sandbox did not answer, so that it is worth another try. What it refuses stays saved, and the agent is
 * told. Once it has worked without it, only the agent or a person recovers it: its files must not change by themselves.
 */
export async function applyCarriedWork(
  deps: Pick<Deps, 'config' | 'db' | 'homeGate' | 'log' | 'now'>,
  { daemon, projectId, redactor, carryTries }: CarriedInto,
): Promise<boolean> {
  await noteLost(deps, { daemon, projectId })
  const work = await pendingWork(deps.db, daemon)
  if (work === null) return true
  const startedAt = deps.now()
  const outcome = await recoverInSandbox(daemon, {})
  if (outcome.kind !== 'ok')
    deps.log.warn({ session_id: daemon.sessionId, reason: outcome.reason }, 'saved work was not put into a new sandbox')
  // The next sandbox begins with it, at the next home.
  if (outcome.kind !== 'ok' && deps.homeGate.isClosed(projectId)) return false
  if (outcome.kind === 'unavailable' && carryTries > 1) return false
  if (work.returns) await recordReturn(deps, { daemon, redactor, work, startedAt, outcome })
  return true
}

/** In the timeline of the start that finds it out. */
async function noteLost(
  deps: Pick<Deps, 'config' | 'db' | 'log' | 'now'>,
  { daemon, projectId }: Pick<CarriedInto, 'daemon' | 'projectId'>,
): Promise<void> {
  const project = await getProjectOrDeleted(deps.db, projectId)
  if (project === null) return
  const { sessionId: session_id, generation } = daemon
  const { isNew } = await recordJudged(deps, { store: storeOf(deps, project), ...daemon })
  const pending = isNew.find((row) => row.recovered_at === null)
  if (pending === undefined) return
  const error = `${lostMessage(pending)} The session goes on without it.`
  const phase = { name: 'restore', started_at: deps.now(), ms: 0, error, note: null }
  await appendPhase(deps.db, { session_id, generation }, phase)
}

/** The work that this start has to begin with. That of a taken over server only while no later start has saved any. */
async function pendingWork(db: DbOrTransaction, { sessionId, generation }: DaemonAddress): Promise<WipRow | null> {
  const rows = await wipOf(db, sessionId)
  const ofOthers = rows.filter((row) => row.generation !== generation && row.recovered_at === null)
  const [newest] = ofOthers
  const work = newest?.returns === true ? newest : ofOthers.find((row) => row.generation === carriedGeneration)
  if (work === undefined || work.recovered_into === generation) return null
  return (await hasAnswer(db, sessionId, { after: work.generation })) ? null : work
}

interface Return {
  daemon: DaemonAddress
  redactor: Redactor
  work: WipRow
  startedAt: Date
  outcome: DaemonOutcome<{ files: number }>
}

/** In the timeline of the start. Applied work returns once more if this sandbox ends before it has saved it. */
async function recordReturn(
  { db, now }: Pick<Deps, 'db' | 'now'>,
  { daemon, redactor, work, startedAt, outcome }: Return,
): Promise<void> {
  const { sessionId: session_id, generation } = daemon
  const rows = await wipOf(db, session_id)
  const isApplied = rows.some((row) => row.generation === work.generation && row.recovered_into === generation)
  const saved = `The work saved at ${work.saved_at}`
  const error =
    outcome.kind === 'ok'
      ? null
      : `${saved} was not put back, and stays saved: ${redactor.text(outcome.reason)} Try \`svc sessions recover\`.`
  await db.transaction().execute(async (trx) => {
    if (!isApplied) await endReturn(trx, work)
    // It was pushed since.
    if (!isApplied && error === null) return
    await appendPhase(
      trx,
      { session_id, generation },
      {
        ...{ name: 'restore', started_at: startedAt, ms: now().getTime() - startedAt.getTime(), error },
        note: error === null ? `${saved} is back in the work tree. Later changes are not in it.` : null,
      },
    )
  })
}
