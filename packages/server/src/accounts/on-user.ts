import type { AuditEvent } from '../audit/record.ts'
import type { DbOrTransaction } from '../db/schema.ts'
import { accountsOfUser } from './store.ts'

/** What concerns a user alone is told in the account they start in. */
export async function onUser(db: DbOrTransaction, action: string, userId: string): Promise<AuditEvent> {
  const [account] = await accountsOfUser(db, userId)
  return { account_id: account?.account_id ?? null, project_id: null, action, object_type: 'user', object_id: userId }
}
