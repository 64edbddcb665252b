/** The invited person accepts: as the user they are signed in as, or as a new one. No user who is there already is changed. */
import { type Role, ServiceError } from '@svc/contract'
import { recordAudit } from '../../audit/record.ts'
import type { Caller, UserActor } from '../../auth/actor.ts'
import { sha256 } from '../../auth/credentials.ts'
import { requireBrowser } from '../../auth/fresh-sign-in.ts'
import type { DbOrTransaction } from '../../db/schema.ts'
import type { Deps } from '../../deps.ts'
import { getMember, holdMembers, insertMember, insertUser } from '../store.ts'
import { type InvitationRow, takeInvitation, verifiedAddresses } from './store.ts'

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
    if (invitation === null) throw spent()
    const { account_id, role } = invitation
    await holdMembers(trx, account_id)
    const already = await getMember(trx, account_id, user_id)
    // Thrown, so the invitation stays pending.
    if (already !== null)
      throw new ServiceError('conflict', `You are a member of this account already, with the role ${already.role}.`)
    await join(trx, { ...caller, actor: caller.actor }, invitation)
    return { account_id, role }
  })
}

async function takeByAddress(deps: AcceptDeps, trx: DbOrTransaction, invitationId: string, userId: string) {
  const emails = await verifiedAddresses(trx, userId)
  return emails.length === 0 ? null : takeInvitation(trx, { invitationId, emails }, deps.now())
}

/**
 * A new user by the code of a link; null for a code that is none. The address belongs to the user when it is free: it is
 * a name to sign in with and proves nothing, because the inviter typed it.
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
    ...{ account_id, project_id: null, action: 'member.add', object_type: 'user', object_id: user_id },
    after: { email, role, invitation_id, invited_by },
  })
}

export function spent(): ServiceError {
  return new ServiceError('not_found', 'This invitation was accepted already, was revoked or has expired.', {
    hint: 'Ask an owner of the account for another.',
  })
}
