/** SQL on the session branches whose change requests are merged. */
import { sql } from 'kysely'
import { isAtHome } from '../../db/home.ts'
import { ofLiveProject } from '../../db/live-project.ts'
import { firstRow } from '../../db/rows.ts'
import type { DbOrTransaction } from '../../db/schema.ts'
import { isDue } from '../../sessions/create/branch-store.ts'
import type { ChangeRequestRow } from '../store.ts'

export interface MergedBranch {
  project_id: string
  branch: string
  /** The change request of it that was merged last. */
  cr: ChangeRequestRow
}

/** Session branches that were merged so many days ago or earlier, those first that were not looked at yet. */
export async function mergedBranches(
  db: DbOrTransaction,
  { days, home, limit }: { days: number; home: string | null; limit: number },
): Promise<MergedBranch[]> {
  const { rows } = await sql<ChangeRequestRow>`
    select m.* from session_branches b
    cross join lateral (
      select * from change_requests c
      where c.project_id = b.project_id and c.head_ref = b.branch and c.status = 'merged'
      order by c.merged_at desc limit 1) m
    where m.merged_at < now() - make_interval(days => ${days}::integer) and ${isDue}
      and ${ofLiveProject(sql.ref('b.project_id'))} and ${isAtHome(sql.ref('b.project_id'), home)}
    order by b.looked_at nulls first, m.merged_at limit ${limit}`.execute(db)
  return rows.map((cr) => ({ project_id: cr.project_id, branch: cr.head_ref, cr }))
}

/** Keeps the default branch as it is until the transaction ends. */
export async function holdDefaultBranch(trx: DbOrTransaction, projectId: string): Promise<string | null> {
  const project = trx.selectFrom('projects').select('default_branch').where('project_id', '=', projectId)
  return (await firstRow(project.forShare()))?.default_branch ?? null
}

/** Those of the branches that an open change request has as its head or base. */
export async function branchesInUse(
  trx: DbOrTransaction,
  { projectId, branches }: { projectId: string; branches: string[] },
): Promise<Set<string>> {
  const { rows } = await sql<{ branch: string }>`
    select unnest(array[head_ref, base_ref]) as branch from change_requests
    where project_id = ${projectId} and status = 'open'
      and (head_ref = any(${branches}::text[]) or base_ref = any(${branches}::text[]))`.execute(trx)
  return new Set(rows.map((row) => row.branch))
}
