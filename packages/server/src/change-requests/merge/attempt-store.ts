/** All SQL on merge attempts. An attempt is the intent row that is written before the branch moves. */
import { sql } from 'kysely'
import type { DbOrTransaction, NewRow, Row } from '../../db/schema.ts'
import { findRow, firstRows, updateRows } from '../../db/rows.ts'

export type MergeAttempt = Row<'merge_attempts'>

type NewAttempt = Omit<NewRow<'merge_attempts'>, 'state' | 'reason' | 'settled_at' | 'caller'> & {
  caller: object
  created_at: Date
}

/**
 * One statement locks the change request, checks that it is open, and writes the intent. Closing takes the same lock,
 * so a close and a merge cannot miss each other. Null: it is not open any more.
 */
export async function insertAttempt(db: DbOrTransaction, row: NewAttempt): Promise<MergeAttempt | null> {
  const { rows } = await sql<MergeAttempt>`
    with open as (
      select cr_id, project_id from change_requests
      where cr_id = ${row.cr_id} and project_id = ${row.project_id} and status = 'open'
      for no key update
    )
    insert into merge_attempts (
      attempt_id, cr_id, project_id, base_ref, base_sha, head_sha, result_sha, kind, message, commit_date, merged_by,
      caller, idempotency_key, created_at
    )
    select
      ${row.attempt_id}::uuid, open.cr_id, open.project_id, ${row.base_ref}::text, ${row.base_sha}::text,
      ${row.head_sha}::text, ${row.result_sha}::text, ${row.kind}::merge_kind, ${row.message}::text,
      ${row.commit_date}::timestamptz, ${row.merged_by}::uuid, ${JSON.stringify(row.caller)}::jsonb,
      ${row.idempotency_key}::text, ${row.created_at}::timestamptz
    from open
    returning *`.execute(db)
  return rows[0] ?? null
}

/** At most one: an index enforces it, as merges into one base take turns. */
export function intendedAttempt(
  db: DbOrTransaction,
  { project_id, base_ref }: { project_id: string; base_ref: string },
) {
  return findRow(db, 'merge_attempts', { project_id, base_ref, state: 'intended' })
}

/** Bases with a merge that is unsettled or still running. */
export async function intendedBases(db: DbOrTransaction, limit: number) {
  const intended = db.selectFrom('merge_attempts').select(['project_id', 'base_ref']).where('state', '=', 'intended')
  return intended.orderBy('created_at').limit(limit).execute()
}

export async function isBeingMerged(db: DbOrTransaction, crId: string): Promise<boolean> {
  return (await findRow(db, 'merge_attempts', { cr_id: crId, state: 'intended' })) !== null
}

/** The result of an earlier request with this idempotency key. */
export function landedAttempt(
  db: DbOrTransaction,
  request: { cr_id: string; idempotency_key: string; merged_by: string },
): Promise<MergeAttempt | null> {
  return findRow(db, 'merge_attempts', { ...request, state: 'landed' })
}

/** The attempt that produced a merged change request. */
export async function receiptOf(
  db: DbOrTransaction,
  { cr_id, merge_commit_sha: result_sha }: { cr_id: string; merge_commit_sha: string | null },
): Promise<MergeAttempt | null> {
  if (result_sha === null) return null
  const landed = { cr_id, result_sha, state: 'landed' as const }
  return (await firstRows(db, 'merge_attempts', landed, 1, 'settled_at desc'))[0] ?? null
}

/** Abandoned attempts to merge exactly this head, newest first. */
export function abandonedAttempts(
  db: DbOrTransaction,
  { cr_id, head_sha, limit }: { cr_id: string; head_sha: string; limit: number },
): Promise<MergeAttempt[]> {
  return firstRows(db, 'merge_attempts', { cr_id, head_sha, state: 'abandoned' }, limit, 'created_at desc')
}

/** The newest abandoned attempt that had commits to merge. */
export async function lastRefusedAttempt(db: DbOrTransaction, crId: string): Promise<MergeAttempt | null> {
  const refused = { cr_id: crId, state: 'abandoned', kind: sql`<> 'up-to-date'` } as const
  return (await firstRows(db, 'merge_attempts', refused, 1, 'created_at desc'))[0] ?? null
}

/** The branch contains its result, which overrides an earlier decision to abandon it. */
export async function markLanded(db: DbOrTransaction, attemptId: string, at: Date): Promise<void> {
  await updateRows(db, 'merge_attempts', { attempt_id: attemptId }, { state: 'landed', reason: null, settled_at: at })
}

export async function markAbandoned(db: DbOrTransaction, attemptId: string, reason: string, at: Date): Promise<void> {
  await updateRows(
    db,
    'merge_attempts',
    { attempt_id: attemptId, state: 'intended' },
    { state: 'abandoned', reason, settled_at: at },
  )
}
