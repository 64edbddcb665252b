import type { DbOrTransaction, Row } from '../db/schema.ts'
import { findRow, updateRows, upsertRow } from '../db/rows.ts'

export async function getHostWebhook(db: DbOrTransaction, projectId: string): Promise<Row<'host_webhooks'> | null> {
  return findRow(db, 'host_webhooks', { project_id: projectId })
}

/** A webhook with a fresh secret has had no call. */
export function replaceHostWebhook(
  trx: DbOrTransaction,
  projectId: string,
  secret: { secret: Buffer; created_at: Date },
): Promise<void> {
  const row = { project_id: projectId, ...secret, last_call_at: null, last_sender: null }
  return upsertRow(trx, 'host_webhooks', row, 'project_id')
}

export async function recordCall(db: DbOrTransaction, projectId: string, sender: string): Promise<void> {
  await updateRows(db, 'host_webhooks', { project_id: projectId }, { last_call_at: new Date(), last_sender: sender })
}
