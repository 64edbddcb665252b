/** The tables of users and accounts. */
import type { Role } from '@svc/contract'
import type { Now } from './columns.ts'

export interface AccountTables {
  users: { user_id: string; name: string; email: string | null; created_at: Now }
  account_members: { account_id: string; user_id: string; role: Role; created_at: Now }
}
