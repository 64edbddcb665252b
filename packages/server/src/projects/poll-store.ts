/** When to poll a repository for moved branches. */
import { sql } from 'kysely'
import type { DbOrTransaction } from '../db/schema.ts'

/** Schedules a poll at once, after a push. Requests that arrive before it starts share one poll. */
export async function requestPoll(db: DbOrTransaction, projectId: string): Promise<void> {
  await sql`
    insert into project_looks as look (project_id, looked_at, wanted_at)
    select project_id, 'epoch', clock_timestamp() from projects where project_id = ${projectId}
    on conflict (project_id) do update set wanted_at = clock_timestamp() where look.wanted_at <= look.looked_at`.execute(
    db,
  )
}

export interface Poll {
  project_id: string
  /** A poll was requested, so it covers the default branch too. */
  wanted: boolean
}

/** Takes a poll that is due, so that no other server takes it. */
export async function takePoll(db: DbOrTransaction, every: { managedSeconds: number; externalSeconds: number }) {
  const { rows } = await sql<Poll>`
    with due as (
      select p.project_id, coalesce(l.wanted_at > l.looked_at, false) as wanted
      from projects p left join project_looks l on l.project_id = p.project_id
      where p.deleted_at is null and (l.wanted_at > l.looked_at
        or ((l.looked_at is null or l.looked_at < now() - make_interval(secs =>
            (case when p.managed then ${every.managedSeconds}::integer else ${every.externalSeconds}::integer end)::double precision))
          and exists (select 1 from change_requests c where c.project_id = p.project_id and c.status = 'open')))
      order by wanted desc, l.looked_at nulls first limit 1 for update of p skip locked
    ), taken as (
      insert into project_looks as look (project_id, looked_at, wanted_at)
      select project_id, clock_timestamp(), 'epoch' from due
      on conflict (project_id) do update set looked_at = clock_timestamp()
      returning project_id
    )
    select due.project_id, due.wanted from due join taken using (project_id)`.execute(db)
  return rows[0] ?? null
}
