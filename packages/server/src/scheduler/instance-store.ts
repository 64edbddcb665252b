import { sql } from 'kysely'
import { hasFreeLock, isRecent } from '../db/live-instance.ts'
import { deleteRows, insertRow } from '../db/rows.ts'
import type { DbOrTransaction } from '../db/schema.ts'
import type { Deps } from '../deps.ts'

export interface Instance {
  instanceId: string
  /** The id of its data folder. */
  folderId: string
  serverName: string
  /** How other servers reach it as the home of projects. Null: it runs alone, or only answers requests. */
  peerUrl: string | null
}

/** A row without a lock: other servers know this one by its heartbeat. */
export function insertInstance(db: DbOrTransaction, instanceId: string): Promise<void> {
  return insertRow(db, 'server_instances', { instance_id: instanceId, lock_taken_at: null, knows_root_key: true })
}

/** From what each heartbeat records of its server. */
export type OwnState = Pick<Deps, 'disk' | 'now'>

/** Inserts the row again when others have deleted it in a time without heartbeats. */
export async function recordHeartbeat(db: DbOrTransaction, instance: Instance, own: OwnState): Promise<void> {
  const beat = { heartbeat_at: sql<string>`now()`, ...stateOf(own) }
  await db
    .insertInto('server_instances')
    .values({ ...rowOf(instance), ...beat, lock_taken_at: null, knows_root_key: true })
    .onConflict((conflict) => conflict.column('instance_id').doUpdateSet(beat))
    .execute()
  await deleteRows(db, 'server_instances', { heartbeat_at: sql`< now() - interval '1 day'` })
}

/** From here on other servers trust the lock more than the heartbeat, so it has to be held already. */
export async function recordLock(db: DbOrTransaction, instance: Instance, own: OwnState): Promise<void> {
  const { instance_id, ...facts } = rowOf(instance)
  const held = {
    ...facts,
    heartbeat_at: sql<string>`now()`,
    ...stateOf(own),
    lock_taken_at: sql<string>`clock_timestamp()`,
    lock_lost_at: null,
  }
  await db
    .insertInto('server_instances')
    .values({ instance_id, knows_root_key: true, ...held })
    .onConflict((conflict) => conflict.column('instance_id').doUpdateSet(held))
    .execute()
}

function stateOf({ disk, now }: OwnState) {
  const ahead = sql<number>`round(extract(epoch from ${now()}::timestamptz - clock_timestamp()))::integer`
  return { clock_ahead_seconds: ahead, disk_low: disk.isLow }
}

function rowOf({ instanceId, folderId, serverName, peerUrl }: Instance) {
  return { instance_id: instanceId, data_folder: folderId, server_name: serverName, peer_url: peerUrl }
}

export async function deleteInstance(db: DbOrTransaction, instanceId: string): Promise<void> {
  await deleteRows(db, 'server_instances', { instance_id: instanceId })
}

/** With the embedded database this server is alone on its data, so every other row belongs to a dead server. */
export async function deleteOtherInstances(db: DbOrTransaction, instanceId: string): Promise<void> {
  await deleteRows(db, 'server_instances', { instance_id: sql`<> ${instanceId}` })
}

/**
 * Deletes the rows of earlier servers of this data folder, which are dead because this server holds the folder's lock.
 * Their own locks must be free as well: a copy of the folder, such as on a cloned machine, has the same id.
 */
export async function deleteEarlierInstances(
  db: DbOrTransaction,
  { instanceId, folderId }: Pick<Instance, 'instanceId' | 'folderId'>,
): Promise<string[]> {
  const { rows } = await sql<{ instance_id: string }>`delete from server_instances
    where data_folder = ${folderId} and instance_id <> ${instanceId} and ${hasFreeLock}
    returning instance_id`.execute(db)
  return rows.map((row) => row.instance_id)
}

/** Records since when the locks of other servers are free. Returns those servers that are not dead, as of before. */
export async function recordLostLocks(
  db: DbOrTransaction,
  { instanceId, deadAfterSeconds }: { instanceId: string; deadAfterSeconds: number },
): Promise<string[]> {
  const { rows } = await sql<{ instance_id: string }>`
    with lost as (
      update server_instances set lock_lost_at = now()
      where instance_id <> ${instanceId} and lock_lost_at is null and ${hasFreeLock})
    select instance_id from server_instances
    where instance_id <> ${instanceId} and ${isRecent(deadAfterSeconds)}`.execute(db)
  return rows.map((row) => row.instance_id)
}

export async function sendProbe(db: DbOrTransaction, channel: string, text: string): Promise<void> {
  await sql`select pg_notify(${channel}, ${text})`.execute(db)
}
