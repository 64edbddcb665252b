/** Members of an account. Only an owner adds, changes or removes an owner, and the last owner stays. */
import { type Member, type Role, roles, ServiceError } from '@svc/contract'
import { auditEvent, recordAudit } from '../audit/record.ts'
import type { Caller, UserActor } from '../auth/actor.ts'
import { mayAdminister } from '../auth/actor.ts'
import { type AuthorizedAccount, isUuid, notFound } from '../auth/allow.ts'
import { refuseExpiringToken, requireFresh } from '../auth/fresh-sign-in.ts'
import type { Deps } from '../deps.ts'
import type { DbOrTransaction } from '../db/schema.ts'
import { pendingById, revokePending, setInvitedRole } from './invitations/store.ts'
import { countOwners, deleteMember, getMember, holdMembers, setRole } from './store.ts'

interface Change {
  account: AuthorizedAccount
  caller: Caller<UserActor>
}

export async function changeRole(deps: Pick<Deps, 'db' | 'now'>, input: Change & { userId: string; role: Role }) {
  const { account, caller, userId, role } = input
  if (caller.actor.dashboard_session !== undefined) requireFresh(deps, caller.actor, 'any sign-in')
  return deps.db.transaction().execute(async (trx) => {
    await holdMembers(trx, account.account_id)
    const invited = await invitedMember(deps, trx, account, userId)
    const before = invited ?? (await memberOf(trx, account, userId))
    requireOwnerFor(account, before.role, role)
    if (before.role === role) return before
    if (roles.indexOf(role) < roles.indexOf(before.role)) refuseExpiringToken(caller.actor, 'the role')
    if (invited !== null) {
      await setInvitedRole(trx, userId, role)
      await record(trx, input, 'invitation.role', userId, { before: { role: before.role }, after: { role } })
      return { ...before, role }
    }
    if (before.role === 'owner') await refuseLastOwner(trx, account)
    await setRole(trx, account.account_id, userId, role)
    await record(trx, input, 'member.role', userId, { before: { role: before.role }, after: { role } })
    return { ...before, role }
  })
}

export async function removeMember(deps: Pick<Deps, 'db' | 'now'>, input: Change & { userId: string }): Promise<void> {
  const { account, caller, userId } = input
  const leaves = userId.toLowerCase() === caller.actor.user_id
  if (!leaves && !mayAdminister(account.role))
    throw new ServiceError(
      'forbidden',
      `Your role here is ${account.role}. Only owners and admins can remove other members.`,
    )
  await deps.db.transaction().execute(async (trx) => {
    await holdMembers(trx, account.account_id)
    const invited = await invitedMember(deps, trx, account, userId)
    const before = invited ?? (await memberOf(trx, account, userId))
    if (!leaves) requireOwnerFor(account, before.role)
    if (invited !== null) {
      await revokePending(trx, { account_id: account.account_id, invitation_id: userId }, deps.now())
      await record(trx, input, 'invitation.revoke', userId, { before: { email: before.email, role: before.role } })
      return
    }
    if (before.role === 'owner') await refuseLastOwner(trx, account)
    await deleteMember(trx, account.account_id, userId)
    await record(trx, input, 'member.remove', userId, { before: { email: before.email, role: before.role } })
  })
}

/** Adding a member returns the id of the invitation, which identifies the member until the invitation is accepted. */
async function invitedMember(
  deps: Pick<Deps, 'now'>,
  trx: DbOrTransaction,
  { account_id }: AuthorizedAccount,
  id: string,
): Promise<Member | null> {
  const found = isUuid(id) ? await pendingById(trx, account_id, id, deps.now()) : null
  if (found === null) return null
  const { invitation_id: user_id, name, email, role, created_at } = found
  return { user_id, name, email, role, created_at }
}

async function memberOf(db: DbOrTransaction, account: AuthorizedAccount, userId: string): Promise<Member> {
  const member = isUuid(userId) ? await getMember(db, account.account_id, userId) : null
  if (member === null) throw notFound('member')
  return member
}

export function requireOwnerFor(account: AuthorizedAccount, ...roles: Role[]): void {
  if (roles.includes('owner') && account.role !== 'owner')
    throw new ServiceError('forbidden', 'Only an owner of the account can add, change or remove an owner.')
}

async function refuseLastOwner(trx: DbOrTransaction, account: AuthorizedAccount): Promise<void> {
  if ((await countOwners(trx, account.account_id)) > 1) return
  throw new ServiceError('conflict', 'This is the last owner of the account.', {
    hint: 'Make another member an owner first.',
  })
}

function record(
  trx: DbOrTransaction,
  { account, caller }: Change,
  action: string,
  userId: string,
  change: { before?: object; after?: object },
): Promise<void> {
  return recordAudit(trx, caller, { ...auditEvent(account, action, 'user', userId), ...change })
}
