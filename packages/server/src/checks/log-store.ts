/** All SQL on the output of checks, stored in chunks: the newest of each run within its quota. */
import { checkLogAnswerBytesMax, type CheckLogLine } from '@svc/contract'
import { sql } from 'kysely'
import type { DbOrTransaction } from '../db/schema.ts'
import type { RunRow } from './store.ts'

/** Small chunks, because trimming removes whole ones. */
const chunkBytesMax = 32 * 1024

export async function appendLog(db: DbOrTransaction, runId: string, lines: CheckLogLine[]): Promise<void> {
  for (const text of inChunks(lines))
    // Writes nothing for a run that was deleted with its project meanwhile.
    await sql`
      insert into check_log_chunks (run_id, lines, bytes)
      select run_id, ${text}::jsonb, ${Buffer.byteLength(text)} from check_runs where run_id = ${runId}`.execute(db)
}

function inChunks(lines: CheckLogLine[]): string[] {
  const chunks: string[][] = []
  let left = 0
  for (const line of lines) {
    const text = JSON.stringify(line)
    left -= Buffer.byteLength(text)
    if (left >= 0) chunks.at(-1)?.push(text)
    else {
      chunks.push([text])
      left = chunkBytesMax - Buffer.byteLength(text)
    }
  }
  return chunks.map((chunk) => `[${chunk.join(',')}]`)
}

export async function trimLog(db: DbOrTransaction, runId: string, bytesMax: number): Promise<void> {
  await sql`
    with gone as (
      delete from check_log_chunks where run_id = ${runId} and chunk_id <= (
        select chunk_id from (
          select chunk_id, sum(bytes) over (order by chunk_id desc) as total
          from check_log_chunks where run_id = ${runId}) c
        where total > ${bytesMax} order by chunk_id desc limit 1)
      returning 1)
    update check_runs set log_cut = true where run_id = ${runId} and exists (select 1 from gone)`.execute(db)
}

/** The newest lines, oldest of them first. */
export async function lastLines(db: DbOrTransaction, run: Pick<RunRow, 'run_id' | 'log_cut'>, count: number) {
  const chunks = await newestChunks(db, run.run_id)
  const all = chunks.flatMap(({ lines }) => lines)
  const isWhole = all.length <= count && chunks.every(({ rest }) => rest === 0)
  if (isWhole && run.log_cut) all.unshift(markOf(all[0]))
  return { lines: count === 0 ? [] : all.slice(-count), truncated: run.log_cut || !isWhole }
}

/** The chunks that fit in one response, oldest first; `rest` counts the older ones. */
async function newestChunks(db: DbOrTransaction, runId: string): Promise<{ lines: CheckLogLine[]; rest: number }[]> {
  const { rows } = await sql<{ lines: CheckLogLine[]; rest: number }>`
    with sized as (
      select chunk_id, sum(bytes) over (order by chunk_id desc) as total from check_log_chunks where run_id = ${runId})
    select lines, (select count(*) from sized where total > ${checkLogAnswerBytesMax})::integer as rest
    from check_log_chunks where run_id = ${runId}
      and chunk_id in (select chunk_id from sized where total <= ${checkLogAnswerBytesMax})
    order by chunk_id`.execute(db)
  return rows
}

function markOf(first: CheckLogLine | undefined): CheckLogLine {
  const at = first?.at ?? new Date(0).toISOString()
  return { at, stream: 'svc', text: 'The log exceeds the size limit of a check. Earlier lines were removed.' }
}
