import { sql } from 'kysely'
import { ofLiveProject } from '../../db/live-project.ts'
import { isAtHome } from '../../db/home.ts'
import { isServerConnected } from '../../db/live-instance.ts'
import type { DbOrTransaction, NewRow, Row } from '../../db/schema.ts'
import { insertIfNew, updateRows } from '../../db/rows.ts'

export type EventRow = Row<'channel_events'>

/** False for a repeated delivery id or subject id. */
export function insertEvent(db: DbOrTransaction, row: NewRow<'channel_events'>): Promise<boolean> {
  return insertIfNew(db, 'channel_events', row)
}

/** Claims the oldest waiting event that is first in its thread and that no live server holds. */
export async function claimEvent(
  db: DbOrTransaction,
  input: { instanceId: string; home: string | null; now: Date; staleSeconds: number },
) {
  const { rows } = await sql<EventRow>`
    update channel_events set instance_id = ${input.instanceId}, claimed_at = now(), attempts = attempts + 1
    where event_row_id = (
      select e.event_row_id from channel_events e
      join channels c on c.channel_id = e.channel_id and ${ofLiveProject(sql.ref('c.project_id'))}
        and ${isAtHome(sql.ref('c.project_id'), input.home)}
      where e.status = 'waiting' and (e.next_try_at is null or e.next_try_at <= ${input.now})
        and (e.claimed_at is null or e.claimed_at < now() - interval '5 minutes'
          or (e.instance_id <> ${input.instanceId} and not ${isServerConnected(sql.ref('e.instance_id'), input.staleSeconds)}))
        and not exists (select 1 from channel_events b where b.status = 'waiting' and b.channel_id = e.channel_id
          and b.thread_key = e.thread_key and b.event_row_id < e.event_row_id)
      order by e.event_row_id limit 1 for update of e skip locked)
    returning *`.execute(db)
  return rows[0] ?? null
}

export async function finishEvent(
  db: DbOrTransaction,
  row: EventRow,
  result: { status: 'done' | 'refused'; reason: string | null },
): Promise<void> {
  await updateRows(db, 'channel_events', { event_row_id: row.event_row_id }, { ...result, claimed_at: null })
}

export async function postponeEvent(db: DbOrTransaction, row: EventRow, input: { reason: string; until: Date }) {
  await updateRows(
    db,
    'channel_events',
    { event_row_id: row.event_row_id, status: 'waiting' },
    { reason: input.reason, next_try_at: input.until, claimed_at: null },
  )
}

/** In how many milliseconds a postponed event is due. Null: none is. */
export async function nextTryInMs(db: DbOrTransaction, now: Date): Promise<number | null> {
  const { rows } = await sql<{ at: string | null }>`
    select min(next_try_at) as at from channel_events where status = 'waiting' and next_try_at > ${now}`.execute(db)
  return rows[0]?.at == null ? null : Date.parse(rows[0].at) - now.getTime()
}

/** Counts the threads started in this channel during the minute before the event. */
export async function countStarts(db: DbOrTransaction, row: EventRow): Promise<number> {
  const { rows } = await sql<{ n: number }>`
    select count(*)::int as n from channel_threads where channel_id = ${row.channel_id}
      and created_at > ${row.created_at}::timestamptz - interval '1 minute' and created_at <= ${row.created_at}`.execute(
    db,
  )
  return rows[0]?.n ?? 0
}

/** Seven days is far longer than any platform redelivers. */
export async function deleteOldEvents(db: DbOrTransaction): Promise<void> {
  await sql`delete from channel_events where event_row_id in (
    select event_row_id from channel_events where status <> 'waiting' and created_at < now() - interval '7 days' limit 10000)`.execute(
    db,
  )
}
