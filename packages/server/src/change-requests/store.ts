import type { ChangeRequest } from '@svc/contract'
import { type RawBuilder, sql } from 'kysely'
import { isUuid, notFound } from '../auth/allow.ts'
import type { DbOrTransaction, Row } from '../db/schema.ts'
import { takeChangeRequestNumber } from '../projects/store.ts'
import { findRow, firstRows, listRows } from '../db/rows.ts'

export type ChangeRequestRow = Row<'change_requests'>

export function presentChangeRequest(row: ChangeRequestRow): ChangeRequest {
  return { ...row, metadata: row.metadata as ChangeRequest['metadata'] }
}

export async function requireChangeRequest(db: DbOrTransaction, projectId: string, crId: string) {
  const of = { project_id: projectId, cr_id: crId }
  const row = isUuid(crId) ? await findRow(db, 'change_requests', of) : null
  if (row === null) throw notFound('change request')
  return row
}

/** The given ones that exist in the project, in any order. */
export function getChangeRequests(db: DbOrTransaction, projectId: string, crIds: string[]) {
  return listRows(db, 'change_requests', { project_id: projectId, cr_id: crIds })
}

/** Locks the row until the transaction ends, so that a decision about it still holds when it is written. */
export async function lockChangeRequest(db: DbOrTransaction, projectId: string, crId: string) {
  const row = await db
    .selectFrom('change_requests')
    .selectAll()
    .where((eb) => eb.and({ project_id: projectId, cr_id: crId }))
    .forNoKeyUpdate()
    .executeTakeFirst()
  if (row === undefined) throw notFound('change request')
  return row
}

/** The next open change requests of all projects in the order of their ids. */
export function openAfter(db: DbOrTransaction, crId: string, limit: number): Promise<ChangeRequestRow[]> {
  return firstRows(db, 'change_requests', { status: 'open', cr_id: sql`> ${crId}` }, limit, 'cr_id')
}

/** Other open change requests on the same base, newest first. */
export function openOnBase(db: DbOrTransaction, { cr, limit }: { cr: ChangeRequestRow; limit: number }) {
  const { project_id, base_ref, cr_id } = cr
  const others = { project_id, base_ref, status: 'open' as const, cr_id: sql`<> ${cr_id}` }
  return firstRows(db, 'change_requests', others, limit, 'number desc')
}

export interface NewChangeRequest {
  cr_id: string
  account_id: string
  project_id: string
  title: string
  description: string
  base_ref: string
  head_ref: string
  base_commit_sha: string
  head_commit_sha: string
  /** Ignored when it is no session of this project. */
  origin_session_id: string | null
  created_by: string
  metadata: object
  at: Date
}

/**
 * Assigns the number and inserts the row in one statement: numbers have no gaps, are never reused, and concurrent
 * creators wait only here. The session is locked against deletion, so that the row can reference it.
 */
export async function insertChangeRequest(db: DbOrTransaction, row: NewChangeRequest): Promise<ChangeRequestRow> {
  const { rows } = await sql<ChangeRequestRow>`
    with counter as (
      ${takeChangeRequestNumber(row.project_id)}
    ), origin as (
      select session_id from project_sessions
      where session_id = ${row.origin_session_id} and project_id = ${row.project_id}
      for key share
    )
    insert into change_requests (
      cr_id, account_id, project_id, number, title, description, base_ref, head_ref,
      base_commit_sha, head_commit_sha, origin_session_id, created_by, metadata, created_at, updated_at
    )
    select
      ${row.cr_id}::uuid, ${row.account_id}::uuid, ${row.project_id}::uuid, counter.number,
      ${row.title}::text, ${row.description}::text, ${row.base_ref}::text, ${row.head_ref}::text,
      ${row.base_commit_sha}::text, ${row.head_commit_sha}::text, (select session_id from origin),
      ${row.created_by}::uuid, ${JSON.stringify(row.metadata)}::jsonb, ${row.at}::timestamptz, ${row.at}::timestamptz
    from counter
    returning *`.execute(db)
  // No counter, no row: the project was deleted while its branches were resolved.
  if (rows[0] === undefined) throw notFound('project')
  return rows[0]
}

export async function updateChangeRequest(
  db: DbOrTransaction,
  crId: string,
  set: {
    title?: string
    description?: string
    metadata?: object
    status?: 'open' | 'closed'
    closed_at?: Date | null
    closed_by?: string | null
  },
  at: Date,
): Promise<ChangeRequestRow> {
  const { metadata, ...rest } = set
  return db
    .updateTable('change_requests')
    .set({ ...rest, ...(metadata === undefined ? {} : { metadata: JSON.stringify(metadata) }), updated_at: at })
    .where('cr_id', '=', crId)
    .returningAll()
    .executeTakeFirstOrThrow()
}

/** Whether this commit was its head at any time. */
export async function wasHead(db: DbOrTransaction, crId: string, sha: string): Promise<boolean> {
  return (await findRow(db, 'change_request_heads', { cr_id: crId, head_sha: sha })) !== null
}

/** Undefined: the branch does not exist. */
export interface FoundTips {
  cr: ChangeRequestRow
  base: string | undefined
  head: string | undefined
}

type Tips = Pick<ChangeRequestRow, 'base_commit_sha' | 'head_commit_sha' | 'missing_ref'>

/** What a row says of its branches. A deleted branch leaves the last known pair of commits. */
export function tipsToStore({ cr, base, head }: FoundTips): Tips {
  if (base !== undefined && head !== undefined)
    return { base_commit_sha: base, head_commit_sha: head, missing_ref: null }
  const { base_commit_sha, head_commit_sha, base_ref, head_ref } = cr
  return { base_commit_sha, head_commit_sha, missing_ref: head === undefined ? head_ref : base_ref }
}

/** One statement for all rows whose tips moved. Skips a row that has changed since it was read: the other writer knows newer tips. Returns the rows it wrote. */
export async function recordTips(db: DbOrTransaction, found: FoundTips[], at: Date): Promise<ChangeRequestRow[]> {
  const tips = found.map(tipsToStore)
  const { rows } = await sql<ChangeRequestRow>`
    with found as (
      select * from unnest(
        ${found.map(({ cr }) => cr.cr_id)}::uuid[],
        ${tips.map((each) => each.base_commit_sha)}::text[], ${tips.map((each) => each.head_commit_sha)}::text[],
        ${tips.map((each) => each.missing_ref)}::text[],
        ${found.map(({ cr }) => cr.base_commit_sha)}::text[], ${found.map(({ cr }) => cr.head_commit_sha)}::text[]
      ) as t(cr_id, base, head, missing, read_base, read_head)
    ), locked as (
      -- In one order for everybody, or two lists that refresh the same rows would deadlock.
      select cr.cr_id, found.base, found.head, found.missing
      from change_requests cr join found on found.cr_id = cr.cr_id
      where cr.status = 'open'
        and cr.base_commit_sha is not distinct from found.read_base
        and cr.head_commit_sha is not distinct from found.read_head
      order by cr.cr_id
      for no key update of cr
    )
    update change_requests cr
    set base_commit_sha = locked.base, head_commit_sha = locked.head, missing_ref = locked.missing, updated_at = ${at}
    from locked
    where cr.cr_id = locked.cr_id
    returning cr.*`.execute(db)
  return rows
}

export interface MergeToMark {
  found: ChangeRequestRow
  attempt: Row<'merge_attempts'>
  at: Date
  /** Inserts audit and event rows for each row of the named query. */
  records: (of: string) => { audit: RawBuilder<unknown>; event: RawBuilder<unknown> }
}

/**
 * Marks it as merged by an attempt, marks the attempt as landed, and records audit and event: one statement, all or
 * nothing. `found` has to match the row. Null, and nothing written: it was edited meanwhile, or is not open.
 */
export async function markMerged(db: DbOrTransaction, { found, attempt, at, records }: MergeToMark) {
  const { audit, event } = records('merged')
  const { rows } = await sql<ChangeRequestRow>`
    with merged as (
      update change_requests
      set status = 'merged', merged_at = ${attempt.created_at}, merged_by = ${attempt.merged_by},
        merge_commit_sha = ${attempt.result_sha}, base_commit_sha = ${attempt.base_sha},
        head_commit_sha = ${attempt.head_sha}, updated_at = ${at}
      where cr_id = ${attempt.cr_id} and project_id = ${attempt.project_id} and status = 'open'
        and title = ${found.title} and origin_session_id is not distinct from ${found.origin_session_id}
      returning *
    ), audited as (${audit}), recorded as (${event}), landed as (
      -- The branch contains its result, which overrides an earlier decision to abandon it.
      update merge_attempts set state = 'landed', reason = null, settled_at = ${at}
      from merged
      where attempt_id = ${attempt.attempt_id}
    )
    select * from merged`.execute(db)
  return rows[0] ?? null
}

export async function countChangeRequestsOf(db: DbOrTransaction, projectId: string) {
  const { all, open } = await db
    .selectFrom('change_requests')
    .select(sql<string>`count(*)`.as('all'))
    .select(sql<string>`count(*) filter (where status = 'open')`.as('open'))
    .where('project_id', '=', projectId)
    .executeTakeFirstOrThrow()
  return { all: Number(all), open: Number(open) }
}
