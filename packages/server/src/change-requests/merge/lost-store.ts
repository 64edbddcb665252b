/** SQL on merges that a take-over lost. Their change requests stay merged, since nothing undoes what followed them. */
import { sql } from 'kysely'
import { listRows } from '../../db/rows.ts'
import type { DbOrTransaction } from '../../db/schema.ts'
import type { ChangeRequestRow } from '../store.ts'

export type MergedRow = ChangeRequestRow & { merge_commit_sha: string }

/** Those whose merge is not known to be lost, in the order of their numbers. */
export async function mergedOf(db: DbOrTransaction, projectId: string): Promise<MergedRow[]> {
  const rows = await listRows(db, 'change_requests', { project_id: projectId, status: 'merged' }, 'number')
  // The tables of an earlier version, which a check may read, do not have the column.
  return rows.filter((row): row is MergedRow => row.merge_commit_sha !== null && (row.merge_lost_at ?? null) === null)
}

/** In the transaction that gives the project a home without them. */
export async function recordLostMerges(
  trx: DbOrTransaction,
  { crIds, server }: { crIds: string[]; server: string },
): Promise<void> {
  if (crIds.length === 0) return
  await sql`update change_requests set merge_lost_at = now(), merge_lost_server = ${server}, updated_at = now()
    where cr_id = any(${crIds}::uuid[]) and status = 'merged'`.execute(trx)
}
