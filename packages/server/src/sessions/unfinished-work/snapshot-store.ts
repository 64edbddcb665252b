/** All SQL on the sizes of stored snapshots of unfinished work. */
import { sql } from 'kysely'
import { deleteRows, insertIfNew } from '../../db/rows.ts'
import type { DbOrTransaction, NewRow } from '../../db/schema.ts'

export async function insertSnapshot(db: DbOrTransaction, row: NewRow<'session_snapshots'>): Promise<void> {
  await insertIfNew(db, 'session_snapshots', row)
}

/** Another session has the snapshot, too, and counts it as long as it needs it. */
export async function copySnapshot(
  db: DbOrTransaction,
  of: { project_id: string; session_id: string; commit_sha: string },
): Promise<void> {
  const { project_id, session_id, commit_sha } = of
  await sql`
    insert into session_snapshots (project_id, session_id, commit_sha, bytes)
    select project_id, ${session_id}, commit_sha, max(bytes) from session_snapshots
    where project_id = ${project_id} and commit_sha = ${commit_sha} group by project_id, commit_sha
    on conflict do nothing`.execute(db)
}

/** Includes deleted sessions while their objects are stored. */
export async function unfinishedBytesOf(db: DbOrTransaction, projectId: string, sessionId: string | null = null) {
  const of = db
    .selectFrom('session_snapshots')
    .select((eb) => eb.fn.coalesce(eb.fn.sum<number>('bytes'), sql<number>`0`).as('bytes'))
    .where('project_id', '=', projectId)
  const row = await (sessionId === null ? of : of.where('session_id', '=', sessionId)).executeTakeFirstOrThrow()
  return Number(row.bytes)
}

export async function snapshotCommits(db: DbOrTransaction, projectId: string): Promise<string[]> {
  const ofProject = db.selectFrom('session_snapshots').where('project_id', '=', projectId)
  return (await ofProject.select('commit_sha').distinct().execute()).map((row) => row.commit_sha)
}

export async function deleteSnapshots(db: DbOrTransaction, projectId: string, commits: string[]): Promise<void> {
  await deleteRows(db, 'session_snapshots', { project_id: projectId, commit_sha: commits })
}

/** Records why the newest work of a session is not saved; null clears it. False when nothing changed or another generation runs. */
export async function setUnsavedWork(
  db: DbOrTransaction,
  of: { sessionId: string; generation: number },
  reason: string | null,
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('project_sessions')
    .set({ unkept_work: reason, updated_at: new Date() })
    .where((eb) => eb.and({ session_id: of.sessionId, generation: of.generation }))
    .where(sql<boolean>`unkept_work is distinct from ${reason}`)
    .executeTakeFirst()
  if (reason !== null)
    await sql`
      update session_wip set notes = notes || jsonb_build_array(${reason}::text)
      where session_id = ${of.sessionId} and generation = ${of.generation}
        and not notes @> jsonb_build_array(${reason}::text)`.execute(db)
  return numUpdatedRows > 0n
}

/** Whether a session of the project has unsaved work for lack of space. One that has ended keeps its reason, and saves no more. */
export async function hasUnsavedWork(db: DbOrTransaction, projectId: string): Promise<boolean> {
  const { rows } = await sql`select from project_sessions
    where project_id = ${projectId} and unkept_work is not null and status = 'running' limit 1`.execute(db)
  return rows.length > 0
}
