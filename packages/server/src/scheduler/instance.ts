import { sql } from 'kysely'
import type { Deps } from '../deps.ts'

/** Tells other servers on this database that this one lives; what it keeps is looked after by them once it stops. */
export async function registerInstance(deps: Pick<Deps, 'db' | 'instanceId'>): Promise<void> {
  await deps.db.insertInto('server_instances').values({ instance_id: deps.instanceId }).execute()
}

export async function beat(deps: Pick<Deps, 'db' | 'instanceId'>): Promise<void> {
  await deps.db
    .insertInto('server_instances')
    .values({ instance_id: deps.instanceId })
    .onConflict((conflict) => conflict.column('instance_id').doUpdateSet({ heartbeat_at: sql<string>`now()` }))
    .execute()
  await deps.db
    .deleteFrom('server_instances')
    .where('heartbeat_at', '<', sql<string>`now() - interval '1 day'`)
    .execute()
}

export async function endInstance(deps: Pick<Deps, 'db' | 'instanceId'>): Promise<void> {
  await deps.db.deleteFrom('server_instances').where('instance_id', '=', deps.instanceId).execute()
}

/** With the embedded database this server is alone on its data: whoever was registered before is dead, whatever their heartbeat says. */
export async function endOtherInstances(deps: Pick<Deps, 'db' | 'instanceId'>): Promise<void> {
  await deps.db.deleteFrom('server_instances').where('instance_id', '!=', deps.instanceId).execute()
}
