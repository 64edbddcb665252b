/** Accepts an invitation, as the signed-in user or as a new one. It changes no existing user. */
import { type Role, ServiceError } from '@svc/contract'
import { auditEvent, recordAudit } from '../../audit/record.ts'
import type { Caller, UserActor } from '../../auth/actor.ts'
import { sha256 } from '../../auth/credentials.ts'
import { requireBrowser } from '../../auth/fresh-sign-in.ts'
import type { DbOrTransaction } from '../../db/schema.ts'
import type { Deps } from '../../deps.ts'
import { getMember, holdMembers, insertMember, insertUser } from '../store.ts'
import { verifiedAddresses } from '../oidc/identity-store.ts'
import { type InvitationRow, takeInvitation } from './store.ts'

type AcceptDeps = Pick<Deps, 'db' | 'now'>

export async function acceptInvitation(
  deps: AcceptDeps,
  caller: Caller<UserActor>,
  by: { code: string } | { invitation_id: string },
): Promise<{ account_id: string; role: Role }> {
  requireBrowser(caller.actor)
  const { user_id } = caller.actor
  return deps.db.transaction().execute(async (trx) => {
    const invitation =
      'code' in by
        ? await takeInvitation(trx, { sha256: sha256(by.code) }, deps.now())
        : await takeByAddress(deps, trx, by.invitation_id, user_id)
    if (invitation === null) throw unusableInvitation()
    const { account_id, role } = invitation
    await holdMembers(trx, account_id)
    const already = await getMember(trx, account_id, user_id)
    // Throwing keeps the invitation pending.
    if (already !== null)
      throw new ServiceError('conflict', `You are already a member of this account, with the role ${already.role}.`)
    await join(trx, caller, invitation)
    return { account_id, role }
  })
}

async function takeByAddress(deps: AcceptDeps, trx: DbOrTransaction, invitationId: string, userId: string) {
  const emails = await verifiedAddresses(trx, userId)
  return emails.length === 0 ? null : takeInvitation(trx, { invitation_id: invitationId, email: emails }, deps.now())
}

/**
 * Creates the user of an invitation link; null for an invalid code. The user gets the address only if it is free: the
 * inviter typed it, so it is a sign-in name and proves nothing.
 */
export async function signUp(
  deps: AcceptDeps,
  trx: DbOrTransaction,
  input: { code: string; callerOf: (userId: string) => Caller<UserActor> },
): Promise<string | null> {
  const invitation = await takeInvitation(trx, { sha256: sha256(input.code) }, deps.now())
  if (invitation === null) return null
  const { invitation_id: user_id, account_id, email, name } = invitation
  await holdMembers(trx, account_id)
  await insertUser(trx, { user_id, email, name })
  await join(trx, input.callerOf(user_id), invitation)
  return user_id
}

async function join(trx: DbOrTransaction, caller: Caller<UserActor>, invitation: InvitationRow): Promise<void> {
  const { account_id, role, email, invitation_id, invited_by } = invitation
  const { user_id } = caller.actor
  await insertMember(trx, { account_id, user_id, role })
  await recordAudit(trx, caller, {
    ...auditEvent({ account_id }, 'member.add', 'user', user_id),
    after: { email, role, invitation_id, invited_by },
  })
}

export function unusableInvitation(): ServiceError {
  return new ServiceError('not_found', 'This invitation is unknown, already accepted, revoked or expired.', {
    hint: 'Ask an owner of the account for a new one.',
  })
}
