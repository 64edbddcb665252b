import type { DbOrTransaction, Row } from '../db/schema.ts'

export async function getHostWebhook(db: DbOrTransaction, projectId: string): Promise<Row<'host_webhooks'> | null> {
  const row = await db.selectFrom('host_webhooks').selectAll().where('project_id', '=', projectId).executeTakeFirst()
  return row ?? null
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
  await db
    .updateTable('host_webhooks')
    .set({ last_call_at: new Date(), last_sender: sender })
    .where('project_id', '=', projectId)
    .execute()
}
