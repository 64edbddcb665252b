import { type AuditEvent, auditEvent } from '../audit/record.ts'
import type { DbOrTransaction } from '../db/schema.ts'
import { accountsOfUser } from './store.ts'

/** Events of a user alone are recorded in their first account. */
export async function onUser(db: DbOrTransaction, action: string, userId: string): Promise<AuditEvent> {
  const [account] = await accountsOfUser(db, userId)
  return auditEvent({ account_id: account?.account_id ?? null }, action, 'user', userId)
}
