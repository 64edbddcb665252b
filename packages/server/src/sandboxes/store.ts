/** All SQL on the sandboxes of sessions and their credentials. */
import { sql } from 'kysely'
import type { DbOrTransaction, NewRow, Row } from '../db/schema.ts'

export type SandboxRow = Row<'session_sandboxes'>
type InForce = NonNullable<SandboxRow['in_force']>

interface OfGeneration {
  session_id: string
  generation: number
}

/** False when the generation already has a sandbox. */
export async function insertSandbox(db: DbOrTransaction, row: NewRow<'session_sandboxes'>): Promise<boolean> {
  const { numInsertedOrUpdatedRows } = await db
    .insertInto('session_sandboxes')
    .values(row)
    .onConflict((conflict) => conflict.columns(['session_id', 'generation']).doNothing())
    .executeTakeFirst()
  return (numInsertedOrUpdatedRows ?? 0n) > 0n
}

export async function updateSandbox(
  db: DbOrTransaction,
  sandboxId: string,
  set: Partial<Pick<SandboxRow, 'status' | 'external_id' | 'endpoint' | 'error' | 'last_active_at'>>,
): Promise<void> {
  await db
    .updateTable('session_sandboxes')
    .set({ ...set, updated_at: new Date() })
    .where('sandbox_id', '=', sandboxId)
    .execute()
}

export async function sandboxesOf(db: DbOrTransaction, sessionId: string): Promise<SandboxRow[]> {
  return db
    .selectFrom('session_sandboxes')
    .selectAll()
    .where('session_id', '=', sessionId)
    .orderBy('generation')
    .execute()
}

export async function isRunElsewhere(
  db: DbOrTransaction,
  session: OfGeneration,
  input: { instanceId: string; staleSeconds: number },
): Promise<boolean> {
  const row = await db
    .selectFrom('session_sandboxes')
    .innerJoin('server_instances', 'server_instances.instance_id', 'session_sandboxes.instance_id')
    .select('sandbox_id')
    .where((eb) => eb.and({ session_id: session.session_id, generation: session.generation }))
    .where('status', 'in', ['provisioning', 'active'])
    .where('session_sandboxes.instance_id', '!=', input.instanceId)
    .where('heartbeat_at', '>', sql<string>`now() - make_interval(secs => ${input.staleSeconds})`)
    .executeTakeFirst()
  return row !== undefined
}

/** The given sandboxes that a session uses or that are warm. One query, because a claim moves a sandbox from one table to the other. */
export async function liveSandboxes(db: DbOrTransaction, sandboxIds: string[]): Promise<string[]> {
  if (sandboxIds.length === 0) return []
  const rows = await db
    .selectFrom('session_sandboxes')
    .select('sandbox_id')
    .where('sandbox_id', 'in', sandboxIds)
    .where('status', 'in', ['provisioning', 'active'])
    .unionAll(db.selectFrom('warm_sandboxes').select('sandbox_id').where('sandbox_id', 'in', sandboxIds))
    .execute()
  return rows.map((row) => row.sandbox_id)
}

export async function getSandbox(db: DbOrTransaction, sandboxId: string): Promise<SandboxRow | null> {
  return (
    (await db.selectFrom('session_sandboxes').selectAll().where('sandbox_id', '=', sandboxId).executeTakeFirst()) ??
    null
  )
}

export async function endSandboxes(
  db: DbOrTransaction,
  sessionId: string,
  status: 'stopped' | 'error',
  error: string | null,
): Promise<void> {
  await db
    .updateTable('session_sandboxes')
    .set({ status, error, endpoint: null, updated_at: new Date() })
    .where('session_id', '=', sessionId)
    .where('status', 'in', ['provisioning', 'active'])
    .execute()
}

export async function insertCredential(db: DbOrTransaction, row: NewRow<'sandbox_credentials'>): Promise<void> {
  await db.insertInto('sandbox_credentials').values(row).execute()
}

export async function holdsServiceKey(db: DbOrTransaction, sandboxId: string): Promise<boolean> {
  const row = await db
    .selectFrom('sandbox_credentials')
    .select('credential_id')
    .where((eb) => eb.and({ sandbox_id: sandboxId, kind: 'service' }))
    .where('revoked_at', 'is', null)
    .executeTakeFirst()
  return row !== undefined
}

/** The caller holds the lock of the session, so that no credential is issued meanwhile. */
export async function revokeSandboxCredentials(trx: DbOrTransaction, sessionId: string, at: Date): Promise<void> {
  await trx
    .updateTable('sandbox_credentials')
    .set({ revoked_at: at })
    .where('session_id', '=', sessionId)
    .where('revoked_at', 'is', null)
    .execute()
}

export async function archiveSandboxes(db: DbOrTransaction, endedBefore: Date): Promise<void> {
  await db
    .updateTable('session_sandboxes')
    .set({ status: 'archived' })
    .where('status', 'in', ['stopped', 'error'])
    .where('updated_at', '<', endedBefore.toISOString())
    .execute()
}

export async function setInForce(db: DbOrTransaction, of: OfGeneration, inForce: InForce): Promise<void> {
  await db
    .updateTable('session_sandboxes')
    .set({ in_force: JSON.stringify(inForce) })
    .where((eb) => eb.and({ session_id: of.session_id, generation: of.generation }))
    .execute()
}

export async function inForceOf(db: DbOrTransaction, of: OfGeneration): Promise<InForce | null> {
  const row = await db
    .selectFrom('session_sandboxes')
    .select('in_force')
    .where((eb) => eb.and({ session_id: of.session_id, generation: of.generation }))
    .executeTakeFirst()
  return row?.in_force ?? null
}
