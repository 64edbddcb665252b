import type { DbOrTransaction } from '../db/schema.ts'
import { findRow } from '../db/rows.ts'

/** The user whose merge moved the default branch to `sha`; null when it moved another way. */
export async function userWhoMerged(db: DbOrTransaction, projectId: string, sha: string): Promise<string | null> {
  const merged = { project_id: projectId, status: 'merged', merge_commit_sha: sha } as const
  return (await findRow(db, 'change_requests', merged))?.merged_by ?? null
}
