import { sql } from 'kysely'
import type { DbOrTransaction } from '../db/schema.ts'

export async function checkLogBytesOf(db: DbOrTransaction, projectId: string): Promise<number> {
  const row = await db
    .selectFrom('check_log_chunks')
    .innerJoin('check_runs', 'check_runs.run_id', 'check_log_chunks.run_id')
    .select(sql<string>`coalesce(sum(check_log_chunks.bytes), 0)::bigint`.as('bytes'))
    .where('check_runs.project_id', '=', projectId)
    .executeTakeFirstOrThrow()
  return Number(row.bytes)
}
