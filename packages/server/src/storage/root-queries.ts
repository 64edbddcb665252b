/** Commits that rows reference: they are read by their ids when no branch contains them any more. */
import { sql } from 'kysely'
import type { DbOrTransaction } from '../db/schema.ts'

/** Columns per table. `reclaim.test.ts` finds one that is missing. */
export const rootColumns = {
  change_requests: ['head_commit_sha', 'base_commit_sha', 'merge_commit_sha'],
  change_request_heads: ['head_sha'],
  change_request_reviews: ['head_sha', 'checked_sha', 'related_sha'],
  review_comments: ['commit_sha', 'answered_head_sha'],
  change_request_checks: ['base_sha', 'head_sha'],
  change_request_trees: ['base_sha', 'head_sha'],
  merge_attempts: ['base_sha', 'head_sha', 'result_sha'],
  session_wip: ['commit_sha', 'base_sha'],
  turn_snapshots: ['commit_sha', 'base_sha'],
  project_sessions: ['start_sha'],
  warm_sandboxes: ['commit_sha'],
  apps: ['commit_sha'],
  app_deploys: ['commit_sha'],
  default_branches: ['sha'],
} as const

const parentOf: Record<string, [table: string, key: string]> = {
  change_request_heads: ['change_requests', 'cr_id'],
  change_request_reviews: ['change_requests', 'cr_id'],
  change_request_checks: ['change_requests', 'cr_id'],
  review_comments: ['change_requests', 'cr_id'],
  session_wip: ['project_sessions', 'session_id'],
}

export async function rootsOf(db: DbOrTransaction, projectId: string): Promise<string[]> {
  const queries = Object.entries(rootColumns).flatMap(([table, columns]) =>
    columns.map((column) => {
      const [parent, key] = parentOf[table] ?? []
      const of =
        parent === undefined || key === undefined
          ? sql`project_id = ${projectId}`
          : sql`${sql.ref(key)} in (select ${sql.ref(key)} from ${sql.table(parent)} where project_id = ${projectId})`
      return sql<{ sha: string }>`select ${sql.ref(column)} as sha from ${sql.table(table)} where ${of}`
    }),
  )
  const { rows } = await sql<{ sha: string | null }>`${sql.join(queries, sql` union `)}`.execute(db)
  return rows.flatMap(({ sha }) => (sha !== null && /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/.test(sha) ? [sha] : []))
}
