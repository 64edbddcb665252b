/** What the database says that the disk has to agree with. */
import { sql } from 'kysely'
import { mergedOf } from '../../change-requests/merge/lost-store.ts'
import { listRows } from '../../db/rows.ts'
import { newestWork } from '../../sessions/unfinished-work/store.ts'
import type { DbOrTransaction, Row } from '../../db/schema.ts'

export interface CheckedProject {
  project_id: string
  slug: string
  managed: boolean
  default_branch: string
  home: string | null
  is_new: boolean
}

export async function checkedProjects(db: DbOrTransaction): Promise<CheckedProject[]> {
  const { rows } = await sql<CheckedProject>`
    select project_id, coalesce(deleted_slug, slug) as slug, managed, default_branch, home,
      created_at > now() - interval '2 minutes'
        and not exists (select from ref_changes c where c.project_id = projects.project_id)
        and not exists (select from change_requests c where c.project_id = projects.project_id) as is_new
    from projects order by project_id`.execute(db)
  return rows
}

export interface MergedCommit {
  number: number
  sha: string
  base: string
}

/** The result of every merge that was acknowledged, without those whose loss a take-over accepted. */
export async function mergedCommits(db: DbOrTransaction, projectId: string): Promise<MergedCommit[]> {
  const rows = await mergedOf(db, projectId)
  return rows.map(({ number, merge_commit_sha: sha, base_ref: base }) => ({ number, sha, base }))
}

/** The commit at which the default branch was last seen. Null: it may never have existed. */
export async function lastSeenDefault(
  db: DbOrTransaction,
  { project_id, default_branch }: Pick<CheckedProject, 'project_id' | 'default_branch'>,
): Promise<string | null> {
  const { rows } = await sql<{ sha: string | null }>`
    select coalesce(
      (select sha from default_branches where project_id = ${project_id} and branch = ${default_branch}),
      (select base_commit_sha from change_requests
        where project_id = ${project_id} and base_ref = ${default_branch} and base_commit_sha is not null
        order by updated_at desc limit 1)) as sha`.execute(db)
  return rows[0]?.sha ?? null
}

export function openChangeRequests(db: DbOrTransaction, projectId: string) {
  return listRows(db, 'change_requests', { project_id: projectId, status: 'open' }, 'number')
}

/** The newest unfinished work of each session. */
export async function savedWorkOf(db: DbOrTransaction, projectId: string) {
  return (await newestWork(db, projectId)).map(({ session_id, commit_sha: sha }) => ({ session_id, sha }))
}

/** Attachments whose content is not as long as it was when it was stored. */
export async function damagedAttachments(
  db: DbOrTransaction,
): Promise<{ attachment_id: string; session_id: string }[]> {
  const { rows } = await sql<{ attachment_id: string; session_id: string }>`
    select attachment_id, session_id from session_attachments where octet_length(content) <> bytes
    order by session_id, attachment_id`.execute(db)
  return rows
}

/** As each accepted master key wraps it. */
export function rootKeys(db: DbOrTransaction): Promise<Row<'root_keys'>[]> {
  return listRows(db, 'root_keys', {}, 'position')
}

export interface LowSequence {
  sequence: string
  last: string
  highest: string
}

/** Sequences whose next value a row already has, so that each insert fails. */
export async function lowSequences(db: DbOrTransaction): Promise<LowSequence[]> {
  const { rows: owned } = await sql<{ sequence: string; table: string; column: string }>`
    select s.relname as sequence, t.relname as table, a.attname as column
    from pg_class s
    join pg_depend d on d.classid = 'pg_class'::regclass and d.objid = s.oid and d.deptype in ('a', 'i')
    join pg_class t on t.oid = d.refobjid
    join pg_attribute a on a.attrelid = t.oid and a.attnum = d.refobjsubid
    where s.relkind = 'S' and s.relnamespace = current_schema()::regnamespace order by s.relname`.execute(db)
  const low: LowSequence[] = []
  for (const { sequence, table, column } of owned) {
    // The rows are those of the statement's begin, and the sequence is read after it, so that it is never behind.
    const { rows } = await sql<LowSequence>`
      select ${sequence} as sequence, s.last_value as last, highest
      from ${sql.table(sequence)} s, (select max(${sql.ref(column)}) as highest from ${sql.table(table)}) rows
      where highest > s.last_value or (highest = s.last_value and not s.is_called)`.execute(db)
    low.push(...rows)
  }
  return low
}

/** Merges that were begun long ago and neither landed nor were given up. */
export async function openMerges(db: DbOrTransaction, projectId: string): Promise<number> {
  const created_at = sql`< now() - interval '1 hour'`
  return (await listRows(db, 'merge_attempts', { project_id: projectId, state: 'intended', created_at })).length
}
