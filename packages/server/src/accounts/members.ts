/** Who belongs to an account. Only an owner makes, changes or removes an owner, and the last one stays. */
import { type Member, type Role, ServiceError } from '@svc/contract'
import { recordAudit } from '../audit/record.ts'
import type { Caller } from '../auth/actor.ts'
import { mayAdminister } from '../auth/actor.ts'
import { type AuthorizedAccount, isUuid, notFound } from '../auth/allow.ts'
import type { Deps } from '../deps.ts'
import type { DbOrTransaction } from '../db/schema.ts'
import { forgetIdentities } from './oidc/identities.ts'
import { makeOwnerLink } from './owner-link.ts'
import {
  countOwners,
  deleteMember,
  ensureUser,
  getMember,
  hasActed,
  holdMembers,
  insertMember,
  setRole,
} from './store.ts'

interface Change {
  account: AuthorizedAccount
  caller: Caller
}

/** Somebody who was never here is given a link to come in by. Whoever was has a way in of their own, and nobody else may have one. */
export async function addMember(
  deps: Pick<Deps, 'db' | 'now' | 'newId' | 'config' | 'randomBytes'>,
  input: Change & { email: string; name?: string | undefined; role: Role },
): Promise<{ member: Member; sign_in: { url: string; expires_at: string } | null }> {
  const { account, email, role } = input
  refuseOwnersMatter(account, role)
  return deps.db.transaction().execute(async (trx) => {
    await holdMembers(trx, account.account_id)
    const name = input.name ?? email.split('@')[0]!.slice(0, 100)
    const { user_id } = await ensureUser(trx, { user_id: deps.newId(), email, name })
    const isNew = !(await hasActed(trx, user_id))
    const already = await getMember(trx, account.account_id, user_id)
    if (already !== null && (!isNew || already.role !== role)) throw isMember(already)
    if (already === null) await insertMember(trx, { account_id: account.account_id, user_id, role })
    const member = already ?? (await memberOf(trx, account, user_id))
    await record(trx, input, 'member.add', user_id, { after: { email, role } })
    return { member, sign_in: isNew ? await makeOwnerLink({ ...deps, db: trx }, user_id) : null }
  })
}

export async function changeRole(
  deps: Pick<Deps, 'db'>,
  input: Change & { userId: string; role: Role },
): Promise<Member> {
  const { account, userId, role } = input
  return deps.db.transaction().execute(async (trx) => {
    await holdMembers(trx, account.account_id)
    const before = await memberOf(trx, account, userId)
    refuseOwnersMatter(account, before.role, role)
    if (before.role === role) return before
    if (before.role === 'owner') await refuseLastOwner(trx, account)
    await setRole(trx, account.account_id, userId, role)
    await record(trx, input, 'member.role', userId, { before: { role: before.role }, after: { role } })
    return { ...before, role }
  })
}

export async function removeMember(deps: Pick<Deps, 'db'>, input: Change & { userId: string }): Promise<void> {
  const { account, caller, userId } = input
  const leaves = userId.toLowerCase() === caller.actor.user_id
  if (!leaves && !mayAdminister(account.role))
    throw new ServiceError('forbidden', `Your role here is ${account.role}; only owners and admins remove others.`)
  await deps.db.transaction().execute(async (trx) => {
    await holdMembers(trx, account.account_id)
    const before = await memberOf(trx, account, userId)
    if (!leaves) refuseOwnersMatter(account, before.role)
    if (before.role === 'owner') await refuseLastOwner(trx, account)
    await deleteMember(trx, account.account_id, userId)
    await forgetIdentities(trx, userId)
    await record(trx, input, 'member.remove', userId, { before: { email: before.email, role: before.role } })
  })
}

async function memberOf(db: DbOrTransaction, account: AuthorizedAccount, userId: string): Promise<Member> {
  const member = isUuid(userId) ? await getMember(db, account.account_id, userId) : null
  if (member === null) throw notFound('member')
  return member
}

function refuseOwnersMatter(account: AuthorizedAccount, ...roles: Role[]): void {
  if (roles.includes('owner') && account.role !== 'owner')
    throw new ServiceError('forbidden', 'Only an owner of the account makes, changes or removes an owner.')
}

async function refuseLastOwner(trx: DbOrTransaction, account: AuthorizedAccount): Promise<void> {
  if ((await countOwners(trx, account.account_id)) > 1) return
  throw new ServiceError('conflict', 'This is the last owner of the account.', {
    hint: 'Make somebody else an owner first.',
  })
}

function isMember({ role }: Member): ServiceError {
  return new ServiceError('conflict', `They are a member already, with the role ${role}.`, {
    hint: 'Change the role of the member instead.',
    detail: { role },
  })
}

function record(
  trx: DbOrTransaction,
  { account, caller }: Change,
  action: string,
  userId: string,
  change: { before?: object; after?: object },
): Promise<void> {
  const of = { account_id: account.account_id, project_id: null, object_type: 'user', object_id: userId }
  return recordAudit(trx, caller, { ...of, action, ...change })
}
