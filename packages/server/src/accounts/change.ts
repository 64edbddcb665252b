/** Additional accounts and their plans. Only owners of the first account, who run the instance, manage them. */
import { type Account, type Plan, ServiceError } from '@svc/contract'
import { auditEvent, recordAudit } from '../audit/record.ts'
import type { Caller, UserActor } from '../auth/actor.ts'
import type { AuthorizedAccount } from '../auth/allow.ts'
import type { Deps } from '../deps.ts'
import type { DbOrTransaction } from '../db/schema.ts'
import { accountSlug } from './slug.ts'
import { getAccount, holdMembers, insertAccount, insertMember, instanceOwnedBy, updateAccountRow } from './store.ts'

export async function createAccount(
  deps: Pick<Deps, 'db'>,
  input: { accountId: string; name: string; plan: Plan; caller: Caller<UserActor> },
): Promise<Account> {
  const { accountId: account_id, name, plan, caller } = input
  const { user_id } = caller.actor
  return deps.db.transaction().execute(async (trx) => {
    await requireInstanceOwner(trx, user_id, 'create accounts')
    const made = { account_id, slug: accountSlug({ account_id, name }), name, plan, role: 'owner' as const }
    if (!(await insertAccount(trx, { account_id, name, plan }))) return made
    await insertMember(trx, { account_id, user_id, role: 'owner' })
    await recordAudit(trx, caller, {
      ...auditEvent({ account_id }, 'account.create', 'account', account_id),
      after: { name, plan },
    })
    return made
  })
}

export async function updateAccount(
  deps: Pick<Deps, 'db'>,
  input: { account: AuthorizedAccount; name?: string | undefined; plan?: Plan | undefined; caller: Caller<UserActor> },
): Promise<Account> {
  const { account, caller } = input
  const { account_id, role } = account
  return deps.db.transaction().execute(async (trx) => {
    await holdMembers(trx, account_id)
    const { name, plan } = await getAccount(trx, account_id)
    const after = { name: input.name ?? name, plan: input.plan ?? plan }
    if (after.plan !== plan) await requireInstanceOwner(trx, caller.actor.user_id, 'change plans')
    if (after.name !== name || after.plan !== plan) {
      await updateAccountRow(trx, account_id, after)
      await recordAudit(trx, caller, {
        ...auditEvent({ account_id }, 'account.update', 'account', account_id),
        before: { name, plan },
        after,
      })
    }
    return { account_id, slug: accountSlug({ account_id, name: after.name }), ...after, role }
  })
}

/** For what concerns the whole server. `action` completes the sentence of the refusal. Returns the first account. */
export async function requireInstanceOwner(db: DbOrTransaction, userId: string, action: string): Promise<string> {
  const accountId = await instanceOwnedBy(db, userId)
  if (accountId !== null) return accountId
  throw new ServiceError('forbidden', `Only owners of this server's first account can ${action}.`)
}
