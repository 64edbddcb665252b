import type { DbOrTransaction, Row } from '../db/schema.ts'
import { findRow, updateRows } from '../db/rows.ts'

export async function getHostWebhook(db: DbOrTransaction, projectId: string): Promise<Row<'host_webhooks'> | null> {
  return findRow(db, 'host_webhooks', { project_id: projectId })
}

/** A webhook with a fresh secret has had no call. */
export async function replaceHostWebhook(
  trx: DbOrTransaction,
  projectId: string,
  { secret, created_at }: { secret: Buffer; created_at: Date },
): Promise<void> {
  const row = { secret, created_at, last_call_at: null, last_sender: null }
  await trx
    .insertInto('host_webhooks')
    .values({ project_id: projectId, ...row })
    .onConflict((conflict) => conflict.column('project_id').doUpdateSet(row))
    .execute()
}

export async function recordCall(db: DbOrTransaction, projectId: string, sender: string): Promise<void> {
  await updateRows(db, 'host_webhooks', { project_id: projectId }, { last_call_at: new Date(), last_sender: sender })
}
