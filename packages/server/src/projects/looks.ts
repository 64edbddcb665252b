/** When a repository is looked at for what moved in it. */
import { sql } from 'kysely'
import type { DbOrTransaction } from '../db/schema.ts'

/** Somebody knows of a push: the next look comes at once. Many that want it before it begins cost one. */
export async function wantLook(db: DbOrTransaction, projectId: string): Promise<void> {
  await sql`
    insert into project_looks as look (project_id, looked_at, wanted_at)
    select project_id, 'epoch', clock_timestamp() from projects where project_id = ${projectId}
    on conflict (project_id) do update set wanted_at = clock_timestamp() where look.wanted_at <= look.looked_at`.execute(
    db,
  )
}

export interface Look {
  project_id: string
  /** Somebody asked for it: the default branch is looked at too. */
  wanted: boolean
}

/** A look that is due, taken from the other servers as it begins. */
export async function takeLook(
  db: DbOrTransaction,
  every: { managedSeconds: number; externalSeconds: number },
): Promise<Look | null> {
  const { rows } = await sql<Look>`
    with due as (
      select p.project_id, coalesce(l.wanted_at > l.looked_at, false) as wanted
      from projects p left join project_looks l on l.project_id = p.project_id
      where l.wanted_at > l.looked_at
        or ((l.looked_at is null or l.looked_at < now() - make_interval(secs =>
            (case when p.managed then ${every.managedSeconds}::integer else ${every.externalSeconds}::integer end)::double precision))
          and exists (select 1 from change_requests c where c.project_id = p.project_id and c.status = 'open'))
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
