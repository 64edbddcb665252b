/** All SQL on what the work tree had after each turn. A row is a snapshot, or the pushed commit when nothing was unfinished. */
import { sql } from 'kysely'
import { findRow, listRows, upsertRow } from '../../db/rows.ts'
import type { DbOrTransaction, NewRow, Row } from '../../db/schema.ts'

export type TurnSnapshotRow = Row<'turn_snapshots'>

/** Returns the commit that the row had before, if that was another one. */
export async function recordTurnSnapshot(
  db: DbOrTransaction,
  row: NewRow<'turn_snapshots'>,
): Promise<{ replaced: string | null }> {
  const { session_id, message_id } = row
  const before = await findRow(db, 'turn_snapshots', { session_id, message_id })
  await upsertRow(db, 'turn_snapshots', row, 'session_id', 'message_id')
  return { replaced: before === null || before.commit_sha === row.commit_sha ? null : before.commit_sha }
}

/** In no order. */
export function turnSnapshotsOf(
  db: DbOrTransaction,
  sessionId: string,
  messageIds: string[],
): Promise<TurnSnapshotRow[]> {
  return listRows(db, 'turn_snapshots', { session_id: sessionId, message_id: messageIds })
}

/** Those of the commits that are saved work of a session or of one of its turns. */
export async function neededCommits(
  db: DbOrTransaction,
  projectId: string,
  commits: readonly string[],
): Promise<Set<string>> {
  if (commits.length === 0) return new Set()
  const ids = sql`any(${[...commits]}::text[])`
  const { rows } = await sql<{ sha: string }>`
    select commit_sha as sha from turn_snapshots where project_id = ${projectId} and commit_sha = ${ids}
    union
    select w.commit_sha from session_wip w join project_sessions s using (session_id)
    where s.project_id = ${projectId} and w.commit_sha = ${ids} and w.recovered_at is null`.execute(db)
  return new Set(rows.map(({ sha }) => sha))
}

const atOnce = 1_000

/** Deletes old snapshots, and all old rows of deleted sessions. A pushed commit of a session that exists costs nothing. */
export async function takeOldTurnSnapshots(db: DbOrTransaction, projectId: string, before: Date): Promise<string[]> {
  const { rows } = await sql<{ commit_sha: string; base_sha: string }>`
    delete from turn_snapshots where (session_id, message_id) in (
      select session_id, message_id from turn_snapshots t
      where project_id = ${projectId} and saved_at < ${before}
        and (commit_sha <> base_sha or not exists (select from project_sessions s where s.session_id = t.session_id))
      limit ${atOnce})
    returning commit_sha, base_sha`.execute(db)
  return rows.filter((row) => row.commit_sha !== row.base_sha).map((row) => row.commit_sha)
}
