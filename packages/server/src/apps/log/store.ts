/** All SQL on the output of apps, stored in chunks: the newest of each deploy up to a size limit. */
import { appLogBytesMax, type AppLogLine } from '@svc/contract'
import { sql } from 'kysely'
import { insertRow } from '../../db/rows.ts'
import type { DbOrTransaction, Row } from '../../db/schema.ts'

type LogChunk = Row<'app_log_chunks'>

export async function appendLog(db: DbOrTransaction, deployId: string, lines: AppLogLine[]): Promise<void> {
  if (lines.length === 0) return
  const text = JSON.stringify(lines)
  await insertRow(db, 'app_log_chunks', { deploy_id: deployId, lines: text, bytes: Buffer.byteLength(text) })
}

export async function trimLog(db: DbOrTransaction, deployId: string): Promise<void> {
  await sql`delete from app_log_chunks where deploy_id = ${deployId} and chunk_id <= (
    select chunk_id from (
      select chunk_id, sum(bytes) over (order by chunk_id desc) as total
      from app_log_chunks where deploy_id = ${deployId}) c
    where total > ${appLogBytesMax} order by chunk_id desc limit 1)`.execute(db)
}

/** Oldest first. */
export async function chunksAfter(db: DbOrTransaction, deployId: string, chunkId: number): Promise<LogChunk[]> {
  return db
    .selectFrom('app_log_chunks')
    .selectAll()
    .where('deploy_id', '=', deployId)
    .where('chunk_id', '>', chunkId)
    .orderBy('chunk_id')
    .limit(50)
    .execute()
}

/** The newest lines, oldest of them first, and the last chunk that was read. */
export async function lastLines(db: DbOrTransaction, deployId: string, count: number) {
  const chunks = await db
    .selectFrom('app_log_chunks')
    .selectAll()
    .where('deploy_id', '=', deployId)
    .orderBy('chunk_id', 'desc')
    .execute()
  const all = chunks.reverse().flatMap(({ lines }) => lines)
  return {
    lines: count === 0 ? [] : all.slice(-count),
    truncated: all.length > count,
    lastChunk: chunks.at(-1)?.chunk_id ?? 0,
  }
}
