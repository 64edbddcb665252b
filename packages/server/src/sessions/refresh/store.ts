/** SQL on refreshes, which are recorded on the session, its sandbox and its timeline. */
import type { SessionRefresh } from '@svc/contract'
import { sql } from 'kysely'
import { updateRows } from '../../db/rows.ts'
import type { Db, DbOrTransaction } from '../../db/schema.ts'
import { setInForce } from '../../sandboxes/store.ts'
import { appendPhase, sessionsRunBy } from '../lifecycle/store.ts'
import { recordSessionEvent } from '../record-event.ts'
import type { InForce } from './in-force.ts'

interface OfGeneration {
  session_id: string
  generation: number
}

/** Null when the session does not run in that generation. Needs a transaction. */
export async function requestRefresh(
  trx: DbOrTransaction,
  { session_id: sessionId, generation }: OfGeneration,
  { cause, at }: { cause: SessionRefresh['cause']; at: Date },
): Promise<'new' | 'joined' | null> {
  const session = await trx
    .selectFrom('project_sessions')
    .select('refresh')
    .where((eb) => eb.and({ session_id: sessionId, generation, status: 'running' }))
    .forUpdate()
    .executeTakeFirst()
  if (session === undefined) return null
  const waiting = session.refresh?.status === 'waiting' ? session.refresh : null
  // A waiting request stays a request, which always restarts the runtime.
  if (waiting !== null && cause === 'default_branch') return 'joined'
  const requested: SessionRefresh = {
    status: 'waiting',
    cause,
    requested_at: at.toISOString(),
    settled_at: null,
    // The waiting refresh may have applied some settings during the turn.
    applied: waiting?.applied ?? [],
    needs_restart: session.refresh?.needs_restart ?? [],
    error: waiting?.error ?? null,
  }
  await updateRows(
    trx,
    'project_sessions',
    { session_id: sessionId },
    { refresh: JSON.stringify(requested), updated_at: at },
  )
  return waiting?.cause === 'request' ? 'joined' : 'new'
}

/** Records what a waiting refresh has applied and why it waits. False when nothing changed. */
export async function updateWaitingRefresh(
  db: Db,
  of: OfGeneration,
  input: { requested: SessionRefresh; refresh: SessionRefresh; inForce: InForce | null; at: Date },
): Promise<boolean> {
  const { requested, refresh, inForce, at } = input
  const isChanged =
    JSON.stringify(requested.applied) !== JSON.stringify(refresh.applied) || requested.error !== refresh.error
  if (!isChanged && inForce === null) return false
  return db.transaction().execute(async (trx) => {
    const { numUpdatedRows } = await trx
      .updateTable('project_sessions')
      .set({ refresh: JSON.stringify(refresh), ...(isChanged ? { updated_at: at } : {}) })
      .where((eb) => eb.and({ session_id: of.session_id, generation: of.generation }))
      .where(sql<boolean>`refresh->>'requested_at' = ${refresh.requested_at}`)
      .executeTakeFirst()
    if (numUpdatedRows > 0n && inForce !== null) await setInForce(trx, of, inForce)
    return isChanged && numUpdatedRows > 0n
  })
}

interface FinishedRefresh {
  refresh: SessionRefresh & { settled_at: string }
  inForce: InForce | null
  note: string | null
  startedAt: Date
  ms: number
}

/** Records the result on the session, in its timeline and as an event. Needs a transaction. */
export async function finishRefresh(trx: DbOrTransaction, of: OfGeneration, finished: FinishedRefresh): Promise<void> {
  const { refresh } = finished
  const { session_id, generation } = of
  const session = await trx
    .updateTable('project_sessions')
    .set({ refresh: JSON.stringify(refresh), updated_at: refresh.settled_at })
    .where((eb) => eb.and({ session_id, generation }))
    // A refresh that was requested meanwhile may need a later commit, so it stays waiting.
    .where(sql<boolean>`refresh->>'requested_at' = ${refresh.requested_at}`)
    .returningAll()
    .executeTakeFirst()
  if (session === undefined) return
  if (finished.inForce !== null) await setInForce(trx, of, finished.inForce)
  await appendPhase(trx, of, {
    name: 'refresh',
    ...{ started_at: finished.startedAt, ms: finished.ms, error: refresh.error, note: finished.note },
  })
  const { status, cause, applied, needs_restart } = refresh
  const about = { refresh: { status, cause, applied, needs_restart } }
  await recordSessionEvent(trx, 'session.refreshed', session, refresh.error, null, about)
}

/** The sessions run by this server that have a waiting refresh or an outdated default branch. */
export async function pendingRefreshes(db: DbOrTransaction, of: Parameters<typeof sessionsRunBy>[1]) {
  return sessionsRunBy(db, of)
    .innerJoin('projects as p', 'p.project_id', 's.project_id')
    .leftJoin('default_branches as d', (join) =>
      join.onRef('d.project_id', '=', 's.project_id').onRef('d.branch', '=', 'p.default_branch'),
    )
    .select(['s.session_id', 's.generation', 's.project_id', 's.refresh', 'sandbox.in_force'])
    .select(['d.sha', 'd.manifest', 'd.issues'])
    .where(
      sql<boolean>`(s.refresh->>'status' = 'waiting' or (d.sha is not null and d.sha <> sandbox.in_force->>'commit'))`,
    )
    .execute()
}
