import type { DbOrTransaction } from '../db/schema.ts'

/** The secrets each of these sessions should have, by the revision of its project. */
export async function secretRevisions(
  db: DbOrTransaction,
  sessionIds: string[],
): Promise<Map<string, { projectId: string; revision: string }>> {
  if (sessionIds.length === 0) return new Map()
  const rows = await db
    .selectFrom('project_sessions')
    .innerJoin('projects', 'projects.project_id', 'project_sessions.project_id')
    .select(['session_id', 'projects.project_id', 'secrets_revision'])
    .where('session_id', 'in', sessionIds)
    .execute()
  return new Map(
    rows.map((row) => [row.session_id, { projectId: row.project_id, revision: String(row.secrets_revision) }]),
  )
}
