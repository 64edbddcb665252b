/** All SQL on what checks wrote. Kept in chunks, of each run the newest within a bound. */
import { checkLogBytesMax, type CheckLogLine } from '@svc/contract'
import { sql } from 'kysely'
import type { DbOrTransaction } from '../db/schema.ts'
import type { RunRow } from './store.ts'

export async function appendLog(db: DbOrTransaction, runId: string, lines: CheckLogLine[]): Promise<void> {
  if (lines.length === 0) return
  const text = JSON.stringify(lines)
  // A run that was deleted with its project meanwhile takes no more of it.
  await sql`
    insert into check_log_chunks (run_id, lines, bytes)
    select run_id, ${text}::jsonb, ${Buffer.byteLength(text)} from check_runs where run_id = ${runId}`.execute(db)
}

export async function trimLog(db: DbOrTransaction, runId: string): Promise<void> {
  await sql`
    with gone as (
      delete from check_log_chunks where run_id = ${runId} and chunk_id <= (
        select chunk_id from (
          select chunk_id, sum(bytes) over (order by chunk_id desc) as total
          from check_log_chunks where run_id = ${runId}) c
        where total > ${checkLogBytesMax} order by chunk_id desc limit 1)
      returning 1)
    update check_runs set log_cut = true where run_id = ${runId} and exists (select 1 from gone)`.execute(db)
}

/** The newest lines, oldest of them first. */
export async function lastLines(
  db: DbOrTransaction,
  run: Pick<RunRow, 'run_id' | 'log_cut'>,
  count: number,
): Promise<{ lines: CheckLogLine[]; truncated: boolean }> {
  const chunks = await db
    .selectFrom('check_log_chunks')
    .select('lines')
    .where('run_id', '=', run.run_id)
    .orderBy('chunk_id')
    .execute()
  const all = chunks.flatMap(({ lines }) => lines)
  return { lines: count === 0 ? [] : all.slice(-count), truncated: run.log_cut || all.length > count }
}
