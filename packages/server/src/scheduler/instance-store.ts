import { sql } from 'kysely'
import { isServerAlive } from '../db/live-instance.ts'
import type { DbOrTransaction } from '../db/schema.ts'
import { deleteRows, insertRow } from '../db/rows.ts'

/** A row without a lock: other servers know this one by its heartbeat. */
export function insertInstance(db: DbOrTransaction, instanceId: string): Promise<void> {
  return insertRow(db, 'server_instances', { instance_id: instanceId, lock_taken_at: null, knows_root_key: true })
}

/** Inserts the row again when others have deleted it in a time without heartbeats. */
export async function recordHeartbeat(db: DbOrTransaction, instanceId: string): Promise<void> {
  await db
    .insertInto('server_instances')
    .values({ instance_id: instanceId, lock_taken_at: null, knows_root_key: true })
    .onConflict((conflict) => conflict.column('instance_id').doUpdateSet({ heartbeat_at: sql<string>`now()` }))
    .execute()
  await deleteRows(db, 'server_instances', { heartbeat_at: sql`< now() - interval '1 day'` })
}

/** From here on other servers trust the lock more than the heartbeat, so it has to be held already. */
export async function recordLock(db: DbOrTransaction, instanceId: string): Promise<void> {
  const times = { heartbeat_at: sql<string>`now()`, lock_taken_at: sql<string>`clock_timestamp()` }
  await db
    .insertInto('server_instances')
    .values({ instance_id: instanceId, knows_root_key: true, ...times })
    .onConflict((conflict) => conflict.column('instance_id').doUpdateSet(times))
    .execute()
}

export async function deleteInstance(db: DbOrTransaction, instanceId: string): Promise<void> {
  await deleteRows(db, 'server_instances', { instance_id: instanceId })
}

/** With the embedded database this server is alone on its data, so every other row belongs to a dead server. */
export async function deleteOtherInstances(db: DbOrTransaction, instanceId: string): Promise<void> {
  await deleteRows(db, 'server_instances', { instance_id: sql`<> ${instanceId}` })
}

export async function sendProbe(db: DbOrTransaction, channel: string, text: string): Promise<void> {
  await sql`select pg_notify(${channel}, ${text})`.execute(db)
}

/** One text that changes when a server starts, ends or dies: by its lock at once, by its heartbeat later. */
export async function livenessOfServers(db: DbOrTransaction, deadAfterSeconds: number): Promise<string> {
  const { rows } = await sql<{ liveness: string | null }>`
    select string_agg(concat_ws(' ', s.instance_id, ${isServerAlive(sql.ref('s.instance_id'), deadAfterSeconds)},
      s.heartbeat_at > now() - make_interval(secs => ${deadAfterSeconds})), ', ' order by s.instance_id) as liveness
    from server_instances s where s.heartbeat_at > now() - interval '1 hour'`.execute(db)
  return rows[0]?.liveness ?? ''
}
