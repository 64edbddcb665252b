/**
 * All SQL on the branches that the server made for sessions, and on their deletion. Every transaction locks the project
 * first, and then its branches by name: in another order two of them would deadlock.
 */
import { sql } from 'kysely'
import { insertIfNew, updateRows } from '../../db/rows.ts'
import type { DbOrTransaction } from '../../db/schema.ts'
import { deletionDied, isBeingDeleted } from '../../projects/store.ts'

/** A branch that stayed is looked at again a day later. */
export const isDue = sql<boolean>`(looked_at is null or looked_at < now() - interval '1 day'
  or ${deletionDied})`

interface Branches {
  projectId: string
  branches: string[]
}

export async function recordBranch(db: DbOrTransaction, of: { project_id: string; branch: string }): Promise<void> {
  await insertIfNew(db, 'session_branches', of)
}

/** Whether a server deletes one of them now. Otherwise none is deleted before the transaction ends. */
export async function holdBranches(trx: DbOrTransaction, { projectId, branches }: Branches): Promise<boolean> {
  const rows = trx.selectFrom('session_branches').select(isBeingDeleted.as('is_leaving'))
  const named = rows.where('project_id', '=', projectId).where('branch', 'in', branches)
  const held = await named.orderBy('branch').forShare().execute()
  return held.some((row) => row.is_leaving)
}

const inOrder = ({ projectId, branches }: Branches) => sql`
  select branch from session_branches where project_id = ${projectId} and branch = any(${branches}::text[])
  order by branch for update`

/** Locks them until the transaction ends, and counts them as looked at. Returns those that exist. */
export async function lockBranches(trx: DbOrTransaction, { projectId, branches }: Branches): Promise<string[]> {
  const { rows } = await sql<{ branch: string }>`
    with locked as (${inOrder({ projectId, branches })})
    update session_branches b set looked_at = now() from locked
    where b.project_id = ${projectId} and b.branch = locked.branch returning b.branch`.execute(trx)
  return rows.map((row) => row.branch)
}

/**
 * Marks those of the locked branches that no session needs: theirs rests without unfinished work and without a prompt that
 * waits, and no live one was cut from them. From then on a restart makes the branch again, and no change request is opened
 * for it.
 */
export async function claimBranches(trx: DbOrTransaction, { projectId, branches }: Branches): Promise<string[]> {
  // A session that starts meanwhile waits for this lock, or is seen here.
  await sql`select from project_sessions
    where project_id = ${projectId} and branch_name = any(${branches}::text[]) order by session_id for update`.execute(
    trx,
  )
  const { rows } = await sql<{ branch: string }>`
    with free as (
      select b.branch from session_branches b
      where b.project_id = ${projectId} and b.branch = any(${branches}::text[])
        and not exists (
          select from project_sessions s
          where s.project_id = b.project_id and (s.branch_name = b.branch or s.base_ref = b.branch)
            and s.status not in ('stopped', 'failed', 'completed'))
        and not exists (
          select from project_sessions s
          where s.project_id = b.project_id and s.branch_name = b.branch and (s.unkept_work is not null
            or exists (select from session_wip w where w.session_id = s.session_id and w.recovered_at is null
              and w.lost_at is null)
            or exists (select from session_prompts p where p.session_id = s.session_id and p.status = 'accepted')))
    ), marked as (
      update project_sessions set branch_deleted_at = now()
      where project_id = ${projectId} and branch_name in (select branch from free)
    )
    update session_branches set deleting_at = now()
    where project_id = ${projectId} and branch in (select branch from free) returning branch`.execute(trx)
  return rows.map((row) => row.branch)
}

/** Removes the mark of a server that died in the deletion. */
export async function unmarkBranch(
  db: DbOrTransaction,
  { project_id, branch }: { project_id: string; branch: string },
): Promise<void> {
  await updateRows(db, 'session_branches', { project_id, branch }, { deleting_at: null })
}

/** They stay. `refusal`: why the repository did not delete them. Returns whether that is news about the project. */
export async function releaseBranches(
  db: DbOrTransaction,
  { projectId, branches, refusal }: Branches & { refusal: string | null },
): Promise<boolean> {
  const { rows } = await sql<{ is_new: boolean }>`
    with locked as (${inOrder({ projectId, branches })}), released as (
      update session_branches b set deleting_at = null, refusal = ${refusal}::text
      from locked where b.project_id = ${projectId} and b.branch = locked.branch
    ), marked as (
      update project_sessions set branch_deleted_at = null
      where project_id = ${projectId} and branch_name = any(${branches}::text[]) and branch_deleted_at is not null
    )
    select ${refusal}::text is not null and not exists (
      select from session_branches where project_id = ${projectId} and refusal = ${refusal}::text) as is_new`.execute(
    db,
  )
  return rows[0]!.is_new
}

/** They are deleted. */
export async function forgetBranches(db: DbOrTransaction, { projectId, branches }: Branches): Promise<void> {
  await sql`with locked as (${inOrder({ projectId, branches })})
    delete from session_branches b using locked where b.project_id = ${projectId} and b.branch = locked.branch`.execute(
    db,
  )
}
