import { type RawBuilder, sql } from 'kysely'
import type { DbOrTransaction, NewRow, Row } from '../db/schema.ts'
import { findRow, firstRow } from '../db/rows.ts'

export type DefaultBranchRow = Row<'default_branches'>
type Found = Pick<NewRow<'default_branches'>, 'branch' | 'sha' | 'manifest' | 'issues' | 'moved_at'>

/** A managed repository is read from disk; one elsewhere costs a request to its host. A merge by the service is detected at once. */
const everySeconds = { managed: 3, external: 30 }
const projectsAtOnce = 200

export async function getDefaultBranch(db: DbOrTransaction, projectId: string): Promise<DefaultBranchRow | null> {
  return findRow(db, 'default_branches', { project_id: projectId })
}

/** Locked until the transaction ends: of several servers that detect a move, one records it. */
export async function lockDefaultBranch(trx: DbOrTransaction, projectId: string) {
  return firstRow(
    trx.selectFrom('default_branches').select(['branch', 'sha']).where('project_id', '=', projectId).forUpdate(),
  )
}

/** False when a later poll has written already. */
export async function upsertDefaultBranch(
  trx: DbOrTransaction,
  poll: { project_id: string; checked_at: string },
  found: Found,
  hasMoved: boolean,
): Promise<boolean> {
  const { checked_at } = poll
  const { numInsertedOrUpdatedRows = 0n } = await trx
    .insertInto('default_branches')
    .values({ ...poll, ...found })
    .onConflict((conflict) =>
      conflict
        .column('project_id')
        .doUpdateSet({ checked_at, ...(hasMoved ? found : {}) })
        .where('default_branches.checked_at', '<=', checked_at),
    )
    .executeTakeFirst()
  return numInsertedOrUpdatedRows > 0n
}

/** The database's clock, which all servers share. */
export async function databaseTime(db: DbOrTransaction): Promise<string> {
  const { rows } = await sql<{ at: string }>`select clock_timestamp()::text as at`.execute(db)
  return rows[0]!.at
}

/** First the projects with a merge since their last poll, then those polled longest ago. */
export async function projectsToPoll(db: DbOrTransaction): Promise<string[]> {
  const { rows } = await sql<{ project_id: string }>`
    select p.project_id from projects p left join default_branches d on d.project_id = p.project_id
    cross join lateral (select exists (
      select 1 from change_requests c
      where c.project_id = p.project_id and c.status = 'merged' and c.merged_at > d.checked_at) as yes) merge
    where p.deleted_at is null and (d.checked_at is null or merge.yes or d.branch <> p.default_branch
      or d.checked_at < now() - make_interval(secs => (case when p.managed then ${everySeconds.managed}::integer else ${everySeconds.external}::integer end)::double precision))
    order by merge.yes desc, d.checked_at nulls first limit ${projectsAtOnce}`.execute(db)
  return rows.map((row) => row.project_id)
}

/** Moves a project behind the others, so that two hundred unreachable hosts do not keep the rest waiting. */
export async function postponePoll(db: DbOrTransaction, row: { project_id: string } & Omit<Found, 'moved_at'>) {
  const checked_at: RawBuilder<string> = sql`clock_timestamp()`
  await db
    .insertInto('default_branches')
    .values({ ...row, moved_at: sql<string>`now()`, checked_at })
    .onConflict((conflict) => conflict.column('project_id').doUpdateSet({ checked_at }))
    .execute()
}
