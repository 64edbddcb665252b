/**
 * Unfinished work that a session brings from the one it continues. It is stored like the work of an earlier start, and put
 * into the work tree before the first prompt.
 */
import { dropKeptRef, keepRef } from '@svc/git'
import type { DbOrTransaction } from '../../db/schema.ts'
import type { Deps } from '../../deps.ts'
import { acknowledge, type AcknowledgeDeps } from '../../projects/acknowledge.ts'
import type { ProjectRow } from '../../projects/store.ts'
import { type DaemonAddress, recoverInSandbox } from '../../sandboxes/daemon-client.ts'
import { hasAnswer } from '../conversation/message-store.ts'
import type { CarriedWork } from '../create/continue-from.ts'
import { copySnapshot } from './snapshot-store.ts'
import { upsertWip, wipOf } from './store.ts'
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

/**
 * False when the sandbox did not answer, so that it is worth another try. What it refuses stays saved, and the agent is
 * told. Once it has worked without it, only the agent or a person recovers it: its files must not change by themselves.
 */
export async function applyCarriedWork(deps: Pick<Deps, 'db' | 'log'>, daemon: DaemonAddress): Promise<boolean> {
  const { sessionId, generation } = daemon
  const carried = (await wipOf(deps.db, sessionId)).find((row) => row.generation === carriedGeneration)
  const isPending = carried?.recovered_at === null && carried.recovered_into !== generation
  if (!isPending || (await hasAnswer(deps.db, sessionId, 'any'))) return true
  const outcome = await recoverInSandbox(daemon, {})
  if (outcome.kind === 'ok') return true
  deps.log.warn({ session_id: sessionId, reason: outcome.reason }, 'the work to continue from was not applied')
  return outcome.kind === 'refused'
}
