import type { DbOrTransaction } from '../db/schema.ts'

/** The user whose merge moved the default branch to `sha`; null when it moved another way. */
export async function userWhoMerged(db: DbOrTransaction, projectId: string, sha: string): Promise<string | null> {
  const cr = await db
    .selectFrom('change_requests')
    .select('merged_by')
    .where((eb) => eb.and({ project_id: projectId, status: 'merged', merge_commit_sha: sha }))
    .executeTakeFirst()
  return cr?.merged_by ?? null
}
