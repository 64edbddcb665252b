/** All SQL on change requests that land on the git host because it protects their base from the service. */
import { sql } from 'kysely'
import type { Caller, ProjectActor, UserActor } from '../../auth/actor.ts'
import { isAtHome } from '../../db/home.ts'
import type { DbOrTransaction, Row } from '../../db/schema.ts'
import type { ChangeRequestRow } from '../store.ts'
import { findRow } from '../../db/rows.ts'

export type HostLanding = Row<'host_landings'>

export async function getHostLanding(db: DbOrTransaction, crId: string): Promise<HostLanding | null> {
  return findRow(db, 'host_landings', { cr_id: crId })
}

/** Sets the newest pull request. Without one the row stays as it is. */
export async function saveHostLanding(
  db: DbOrTransaction,
  input: {
    cr: Pick<ChangeRequestRow, 'cr_id' | 'project_id'>
    caller: Caller<UserActor | ProjectActor>
    pull: { number: number; url: string } | null
    at: Date
  },
): Promise<void> {
  const { cr, caller, pull } = input
  await db
    .insertInto('host_landings')
    .values({
      cr_id: cr.cr_id,
      project_id: cr.project_id,
      number: pull?.number ?? null,
      url: pull?.url ?? null,
      created_by: caller.actor.user_id,
      caller: JSON.stringify(caller),
      created_at: input.at,
    })
    .onConflict((conflict) => {
      const one = conflict.column('cr_id')
      return pull === null ? one.doNothing() : one.doUpdateSet({ number: pull.number, url: pull.url })
    })
    .execute()
}

/** Takes open change requests whose check is due, so that no other server takes them. */
export async function takeHostLandings(
  db: DbOrTransaction,
  { everySeconds, limit, home }: { everySeconds: number; limit: number; home: string | null },
): Promise<HostLanding[]> {
  const { rows } = await sql<HostLanding>`
    with due as (
      select cr_id from host_landings
      where next_check_at <= now() and ${isAtHome(sql.ref('host_landings.project_id'), home)} order by next_check_at
      limit ${limit} for update skip locked
    )
    update host_landings l set checked_at = now(), next_check_at = case when c.status = 'open'
      then date_trunc('milliseconds', now()) + make_interval(secs => ${everySeconds}::double precision) end
    from due join change_requests c using (cr_id) where l.cr_id = due.cr_id returning l.*`.execute(db)
  return rows
}

/** In how many milliseconds the next check is due. Null: no open change request lands on its host. */
export async function nextLandingInMs(db: DbOrTransaction, home: string | null): Promise<number | null> {
  const { rows } = await sql<{ ms: number | null }>`
    select (extract(epoch from min(next_check_at) - now()) * 1000)::float8 as ms from host_landings
    where next_check_at is not null and ${isAtHome(sql.ref('host_landings.project_id'), home)}`.execute(db)
  return rows[0]?.ms ?? null
}
