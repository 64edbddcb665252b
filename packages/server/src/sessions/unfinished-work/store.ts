/** All SQL on the saved work of sessions. Generations are the starts of a session. */
import { sql } from 'kysely'
import { deleteRows, listRows, updateRows, upsertRow } from '../../db/rows.ts'
import type { DbOrTransaction, NewRow, Row } from '../../db/schema.ts'

export type WipRow = Row<'session_wip'>

/** Newest generation first, without work that is known to be lost. */
export async function wipOf(db: DbOrTransaction, sessionId: string): Promise<WipRow[]> {
  return (await allWorkOf(db, sessionId)).filter(({ lost_at }) => lost_at === null)
}

export function allWorkOf(db: DbOrTransaction, sessionId: string): Promise<WipRow[]> {
  return listRows(db, 'session_wip', { session_id: sessionId }, 'generation desc')
}

/** The newest work of each session, of one project or of all, without the work that is known to be lost. */
export async function newestWork(db: DbOrTransaction, projectId: string | null): Promise<OfProject[]> {
  const isOfProject = projectId === null ? sql`true` : sql`s.project_id = ${projectId}`
  const { rows } = await sql<OfProject>`
    select distinct on (w.session_id) w.*, s.project_id from session_wip w join project_sessions s using (session_id)
    where ${isOfProject} order by w.session_id, w.generation desc`.execute(db)
  // The tables of an earlier version, which a check may read, do not have the column.
  return rows.filter(({ lost_at }) => (lost_at ?? null) === null)
}

type OfProject = WipRow & { project_id: string }

/** A take-over calls it in the transaction that gives the project a home without the work. */
export async function recordLostWork(db: DbOrTransaction, lost: WipRow[]): Promise<void> {
  for (const { session_id, generation, commit_sha } of lost)
    await updateRows(db, 'session_wip', { session_id, generation, commit_sha }, { lost_at: sql<string>`now()` })
}

export async function recordFoundWork(db: DbOrTransaction, found: WipRow[]): Promise<void> {
  for (const { session_id, generation, commit_sha } of found)
    await updateRows(db, 'session_wip', { session_id, generation, commit_sha }, { lost_at: null })
}

export function upsertWip(db: DbOrTransaction, row: NewRow<'session_wip'>): Promise<void> {
  return upsertRow(db, 'session_wip', row, 'session_id', 'generation')
}

export async function deleteWip(db: DbOrTransaction, sessionId: string, generation: number): Promise<boolean> {
  return (await deleteRows(db, 'session_wip', { session_id: sessionId, generation })) > 0
}

export async function markRecovered(db: DbOrTransaction, sessionId: string, commit: string, at: Date): Promise<void> {
  await updateRows(db, 'session_wip', { session_id: sessionId, commit_sha: commit }, { recovered_at: at })
}

/** The sandbox of this start has applied the work. It counts as recovered once that start has saved. */
export async function markApplied(
  db: DbOrTransaction,
  { sessionId, commit, generation }: { sessionId: string; commit: string; generation: number },
): Promise<void> {
  await updateRows(
    db,
    'session_wip',
    { session_id: sessionId, commit_sha: commit, recovered_at: null },
    { recovered_into: generation },
  )
}

/**
 * Sandboxes end with their server, or for a move to another. What was saved of those that were to run returns with the next
 * start. Work that such a sandbox had applied and not saved is among it.
 */
export async function setReturning(
  trx: DbOrTransaction,
  of: { project_id: string } | { session_id: string },
): Promise<void> {
  const isMeant = 'session_id' in of ? sql`s.session_id = ${of.session_id}` : sql`s.project_id = ${of.project_id}`
  await sql`update session_wip w set returns = true from project_sessions s
    where s.session_id = w.session_id and ${isMeant}
      and s.status in ('provisioning', 'running') and s.desired = 'running'
      and w.recovered_at is null and s.generation in (w.generation, w.recovered_into)`.execute(trx)
}

export async function endReturn(
  db: DbOrTransaction,
  { session_id, generation }: Pick<WipRow, 'session_id' | 'generation'>,
): Promise<void> {
  await updateRows(db, 'session_wip', { session_id, generation }, { returns: false })
}

/** The given sessions that the audit log shows as deleted by then. A missing row proves nothing after the restore of an older backup. */
export async function deletedBefore(
  db: DbOrTransaction,
  of: { projectId: string; sessionIds: string[]; before: Date },
): Promise<Set<string>> {
  if (of.sessionIds.length === 0) return new Set()
  const stored = db.selectFrom('project_sessions').where('session_id', 'in', of.sessionIds)
  const known = await stored.select('session_id').execute()
  const isKnown = new Set(known.map((row) => row.session_id))
  const unknown = of.sessionIds.filter((id) => !isKnown.has(id))
  if (unknown.length === 0) return new Set()
  const deleted = await db
    .selectFrom('audit_events')
    .select('object_id')
    .where((eb) => eb.and({ project_id: of.projectId, action: 'session.delete' }))
    .where('object_id', 'in', unknown)
    .where(sql<boolean>`at < ${of.before}`)
    .execute()
  return new Set(deleted.map((row) => row.object_id))
}

const listMax = 1000

/** One row per session: its newest work that was not recovered. */
export async function wipOfProject(db: DbOrTransaction, projectId: string) {
  return db
    .selectFrom('session_wip')
    .innerJoin('project_sessions', 'project_sessions.session_id', 'session_wip.session_id')
    .distinctOn('session_wip.session_id')
    .select(['session_wip.session_id', 'session_wip.saved_at', 'session_wip.files', 'session_wip.unpushed_commits'])
    .select(['session_wip.base_sha', 'project_sessions.branch_name', 'project_sessions.base_ref'])
    .where('project_sessions.project_id', '=', projectId)
    .where('session_wip.recovered_at', 'is', null)
    .where('session_wip.lost_at', 'is', null)
    .orderBy('session_wip.session_id')
    .orderBy('session_wip.generation', 'desc')
    .limit(listMax)
    .execute()
}
