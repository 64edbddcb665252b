import { sql } from 'kysely'
import type { DbOrTransaction } from '../db/schema.ts'
import { rowBytes } from './conversation/message-store.ts'

interface StoredBytes {
  transcripts: number
  attachments: number
  unfinished: number
  checkLogs: number
  total: number
}

export async function storedBytesOf(db: DbOrTransaction, projectId: string): Promise<StoredBytes> {
  const ofProject = sql`project_id = ${projectId}`
  const { rows } = await sql<StoredBytes>`
    select *, transcripts + attachments + unfinished + "checkLogs" as total from (select
      (select coalesce(sum(${rowBytes}), 0)::float8 from session_messages
        join project_sessions using (session_id) where ${ofProject}) as transcripts,
      (select coalesce(sum(bytes), 0)::float8 from session_attachments
        join project_sessions using (session_id) where ${ofProject}) as attachments,
      (select coalesce(sum(bytes), 0)::float8 from session_snapshots where ${ofProject}) as unfinished,
      (select coalesce(sum(bytes), 0)::float8 from check_log_chunks
        join check_runs using (run_id) where ${ofProject}) as "checkLogs") stored`.execute(db)
  return rows[0]!
}
