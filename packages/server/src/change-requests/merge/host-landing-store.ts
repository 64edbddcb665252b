/** All SQL on change requests that land on the git host because it protects their base from the service. */
import { sql } from 'kysely'
import type { Caller, ProjectActor, UserActor } from '../../auth/actor.ts'
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

/** Takes open change requests not checked for this long and marks them as checked now. */
export async function takeHostLandings(
  db: DbOrTransaction,
  { everySeconds, limit }: { everySeconds: number; limit: number },
): Promise<HostLanding[]> {
  const { rows } = await sql<HostLanding>`
    update host_landings set checked_at = now()
    where cr_id in (
      select l.cr_id from host_landings l join change_requests c on c.cr_id = l.cr_id
      where c.status = 'open' and l.checked_at <= now() - make_interval(secs => ${everySeconds}::double precision)
      order by l.checked_at limit ${limit} for update of l skip locked)
    returning *`.execute(db)
  return rows
}
