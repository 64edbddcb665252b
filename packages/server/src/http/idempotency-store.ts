import { sql } from 'kysely'
import { isServerConnected } from '../db/live-instance.ts'
import type { Db, NewRow, Row } from '../db/schema.ts'
import { deleteRows, findRow, insertIfNew, updateRow, updateRows } from '../db/rows.ts'

/** Longer than any client retries. */
const keptHours = 24

export interface KeyOfScope {
  scope: string
  key: string
}

/** The resource id of the claim; null when the key is claimed already. */
export async function insertKey(db: Db, row: Omit<NewRow<'idempotency_keys'>, 'status' | 'body'>) {
  return (await insertIfNew(db, 'idempotency_keys', { ...row, status: null, body: null })) ? row.resource_id : null
}

export async function getKey(db: Db, { scope, key }: KeyOfScope): Promise<Row<'idempotency_keys'> | null> {
  return findRow(db, 'idempotency_keys', { scope, key })
}

/** The resource id of a claim whose request ended without an answer: in this server by an error, in another one with that server. */
export async function takeOverKey(
  db: Db,
  { scope, key }: KeyOfScope,
  by: { instanceId: string; deadAfterSeconds: number },
): Promise<string | null> {
  const isFree = sql`= ${by.instanceId} or not ${isServerConnected(sql.ref('idempotency_keys.instance_id'), by.deadAfterSeconds)}`
  const unanswered = { scope, key, status: null, instance_id: isFree }
  const taken = await updateRow(db, 'idempotency_keys', unanswered, { instance_id: by.instanceId })
  return taken?.resource_id ?? null
}

export async function storeAnswer(
  db: Db,
  { scope, key, status, body }: KeyOfScope & { status: number; body: string | null },
): Promise<void> {
  await updateRows(db, 'idempotency_keys', { scope, key }, { status, body })
}

/** A refused request made nothing, so its key is free again. */
export async function releaseKey(db: Db, { scope, key }: KeyOfScope): Promise<void> {
  await deleteRows(db, 'idempotency_keys', { scope, key, status: null })
}

export async function deleteOldKeys(db: Db): Promise<void> {
  await deleteRows(db, 'idempotency_keys', { created_at: sql`< now() - make_interval(hours => ${keptHours})` })
}
