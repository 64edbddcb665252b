import { mayWrite } from '../auth/actor.ts'
import type { DbOrTransaction } from '../db/schema.ts'
import type { TriggerRow } from './store.ts'

/** For whom the sessions of a trigger run: who merged it, while they may write here, else the account's first owner. Null when the account has nobody left. */
export async function runAs(db: DbOrTransaction, trigger: TriggerRow): Promise<string | null> {
  const members = await db
    .selectFrom('account_members')
    .innerJoin('projects', 'projects.account_id', 'account_members.account_id')
    .select(['account_members.user_id', 'account_members.role'])
    .where('projects.project_id', '=', trigger.project_id)
    .orderBy('account_members.created_at')
    .orderBy('account_members.user_id')
    .execute()
  const merger = members.find(({ user_id, role }) => user_id === trigger.run_as && mayWrite(role))
  return (merger ?? members.find(({ role }) => role === 'owner'))?.user_id ?? null
}
