/** All SQL on merge attempts: what a merge is about to do, written before the branch moves. */
import { sql } from 'kysely'
import type { DbOrTransaction, NewRow, Row } from '../db/schema.ts'

export type MergeAttempt = Row<'merge_attempts'>

type NewAttempt = Omit<NewRow<'merge_attempts'>, 'state' | 'reason' | 'settled_at' | 'caller'> & {
  caller: object
  created_at: Date
}

/**
 * One statement that locks the change request, looks that it still is open, and writes the intent: whoever closes it
 * takes the same lock, so one of the two sees the other. null: it is not open any more.
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

/** At most one: an index sees to that, as merges into a base take turns. */
export async function intendedAttempt(
  db: DbOrTransaction,
  base: { project_id: string; base_ref: string },
): Promise<MergeAttempt | null> {
  const row = await db
    .selectFrom('merge_attempts')
    .selectAll()
    .where('project_id', '=', base.project_id)
    .where('base_ref', '=', base.base_ref)
    .where('state', '=', 'intended')
    .executeTakeFirst()
  return row ?? null
}

/** The bases that some merge left unsettled, or is merging into right now. */
export async function intendedBases(
  db: DbOrTransaction,
  limit: number,
): Promise<{ project_id: string; base_ref: string }[]> {
  return db
    .selectFrom('merge_attempts')
    .select(['project_id', 'base_ref'])
    .where('state', '=', 'intended')
    .orderBy('created_at')
    .limit(limit)
    .execute()
}

export async function isBeingMerged(db: DbOrTransaction, crId: string): Promise<boolean> {
  const row = await db
    .selectFrom('merge_attempts')
    .select('attempt_id')
    .where('cr_id', '=', crId)
    .where('state', '=', 'intended')
    .executeTakeFirst()
  return row !== undefined
}

/** What an earlier request with this key merged, when this is its retry. */
export async function landedAttempt(
  db: DbOrTransaction,
  request: { cr_id: string; idempotency_key: string; merged_by: string },
): Promise<MergeAttempt | null> {
  const row = await db
    .selectFrom('merge_attempts')
    .selectAll()
    .where('cr_id', '=', request.cr_id)
    .where('idempotency_key', '=', request.idempotency_key)
    .where('merged_by', '=', request.merged_by)
    .where('state', '=', 'landed')
    .executeTakeFirst()
  return row ?? null
}

/** What went into the merge of a merged one. */
export async function receiptOf(
  db: DbOrTransaction,
  cr: { cr_id: string; merge_commit_sha: string | null },
): Promise<MergeAttempt | null> {
  if (cr.merge_commit_sha === null) return null
  const row = await db
    .selectFrom('merge_attempts')
    .selectAll()
    .where('cr_id', '=', cr.cr_id)
    .where('result_sha', '=', cr.merge_commit_sha)
    .where('state', '=', 'landed')
    .orderBy('settled_at', 'desc')
    .executeTakeFirst()
  return row ?? null
}

/** Attempts to merge exactly this head that were given up, newest first. */
export async function abandonedAttempts(
  db: DbOrTransaction,
  input: { cr_id: string; head_sha: string; limit: number },
): Promise<MergeAttempt[]> {
  return db
    .selectFrom('merge_attempts')
    .selectAll()
    .where('cr_id', '=', input.cr_id)
    .where('head_sha', '=', input.head_sha)
    .where('state', '=', 'abandoned')
    .orderBy('created_at', 'desc')
    .limit(input.limit)
    .execute()
}

/** The newest attempt that was given up and had something to merge. */
export async function lastRefusedAttempt(db: DbOrTransaction, crId: string): Promise<MergeAttempt | null> {
  const row = await db
    .selectFrom('merge_attempts')
    .selectAll()
    .where('cr_id', '=', crId)
    .where('state', '=', 'abandoned')
    .where('kind', '<>', 'up-to-date')
    .orderBy('created_at', 'desc')
    .executeTakeFirst()
  return row ?? null
}

/** Its result was seen on the branch, which outweighs whoever gave it up before. */
export async function markLanded(db: DbOrTransaction, attemptId: string, at: Date): Promise<void> {
  await db
    .updateTable('merge_attempts')
    .set({ state: 'landed', reason: null, settled_at: at })
    .where('attempt_id', '=', attemptId)
    .execute()
}

export async function markAbandoned(db: DbOrTransaction, attemptId: string, reason: string, at: Date): Promise<void> {
  await db
    .updateTable('merge_attempts')
    .set({ state: 'abandoned', reason, settled_at: at })
    .where('attempt_id', '=', attemptId)
    .where('state', '=', 'intended')
    .execute()
}
