import { sql } from 'kysely'
import type { DbOrTransaction, NewRow, Row } from '../db/schema.ts'
import { findRow, firstRow } from '../db/rows.ts'

export type DefaultBranchRow = Row<'default_branches'>
type Found = Pick<NewRow<'default_branches'>, 'branch' | 'sha' | 'manifest' | 'issues' | 'moved_at'>

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
