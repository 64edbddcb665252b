/** SQL on when a server last ran, by the clock of the database. */
import { sql } from 'kysely'
import { findRow } from '../db/rows.ts'
import type { DbOrTransaction, Row } from '../db/schema.ts'

/** A server that is used once a week deletes, too. */
const daysMax = 7
const waitDays = 1

export type DeletionTime = Omit<Row<'deletion_clock'>, 'singleton'>

/**
 * Notes that a server runs. When the clock is more than a week from the last time, forwards or backwards, deletions wait
 * for a day. `has_jumped`: this call found that.
 */
export async function noteTime(db: DbOrTransaction): Promise<DeletionTime & { has_jumped: boolean }> {
  const { rows } = await sql<DeletionTime & { has_jumped: boolean }>`
    with before as (
      select abs(extract(epoch from now() - seen_at)) > ${daysMax * 86_400} as is_far from deletion_clock for update)
    insert into deletion_clock as c (seen_at) values (now())
    on conflict (singleton) do update set seen_at = now(),
      jumped_from = case when (select is_far from before) then c.seen_at else c.jumped_from end,
      waits_until = case when (select is_far from before) then now() + make_interval(days => ${waitDays})
        else c.waits_until end
    returning seen_at, jumped_from, waits_until, coalesce((select is_far from before), false) as has_jumped`.execute(db)
  return rows[0]!
}

/** As `noteTime` would find it. Null: no server of this version ran. */
export async function readTime(db: DbOrTransaction): Promise<(DeletionTime & { now: string; is_far: boolean }) | null> {
  const { rows } = await sql<DeletionTime & { now: string; is_far: boolean }>`
    select seen_at, jumped_from, waits_until, now(), abs(extract(epoch from now() - seen_at)) > ${daysMax * 86_400} as is_far
    from deletion_clock`.execute(db)
  return rows[0] ?? null
}

/** As after a jump, whatever the time since. Returns until when deletions wait. */
export async function beginWait(db: DbOrTransaction): Promise<string> {
  const { rows } = await sql<{ waits_until: string }>`
    insert into deletion_clock (seen_at, waits_until) values (now(), now() + make_interval(days => ${waitDays}))
    on conflict (singleton) do update set seen_at = excluded.seen_at, jumped_from = null, waits_until = excluded.waits_until
    returning waits_until`.execute(db)
  return rows[0]!.waits_until
}

/** Null: no server of this version ran. */
export function deletionTime(db: DbOrTransaction): Promise<DeletionTime | null> {
  return findRow(db, 'deletion_clock', {})
}
