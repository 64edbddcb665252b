/** An owner or admin invites someone by email address. An invitation belongs to the account and grants nothing until it is accepted. */
import { base62, type Role, ServiceError } from '@svc/contract'
import { auditEvent, recordAudit } from '../../audit/record.ts'
import type { Caller, UserActor } from '../../auth/actor.ts'
import { type AuthorizedAccount, isUuid, notFound } from '../../auth/allow.ts'
import { sha256 } from '../../auth/credentials.ts'
import { requireFresh } from '../../auth/fresh-sign-in.ts'
import type { DbOrTransaction } from '../../db/schema.ts'
import type { Deps } from '../../deps.ts'
import { requireOwnerFor } from '../members.ts'
import { signInUrl } from '../sign-in/owner-link.ts'
import { memberByEmail, holdMembers } from '../store.ts'
import { insertInvitation, type InvitationRow, pendingById, pendingOf, revokePending, setLink } from './store.ts'

const inviteDays = 7

type InviteDeps = Pick<Deps, 'db' | 'now' | 'newId' | 'config' | 'randomBytes'>
interface By {
  account: AuthorizedAccount
  caller: Caller<UserActor>
}
interface Link {
  url: string
  expires_at: string
}

/** The same address and role return the same invitation. Only a browser gets the link. */
export async function invite(deps: InviteDeps, input: By & { email: string; name?: string | undefined; role: Role }) {
  const { account, caller, email, role } = input
  requireOwnerFor(account, role)
  const isBrowser = caller.actor.dashboard_session !== undefined
  if (isBrowser) requireFresh(deps, caller.actor, 'any sign-in')
  return deps.db.transaction().execute(async (trx) => {
    await holdMembers(trx, account.account_id)
    const already = await memberByEmail(trx, account.account_id, email)
    if (already !== null) throw isMember(already)
    const invitation = await pendingInvitation(deps, trx, input)
    const sign_in = isBrowser ? await makeLink(deps, trx, invitation) : null
    await record(trx, input, 'invitation.create', invitation, { email, role })
    const { invitation_id, name, created_at } = invitation
    return { member: { user_id: invitation_id, name, email, role, created_at }, invitation_id, sign_in }
  })
}

async function pendingInvitation(
  deps: InviteDeps,
  trx: DbOrTransaction,
  { account: { account_id }, caller, email, role, name }: Parameters<typeof invite>[1],
): Promise<InvitationRow> {
  const now = deps.now()
  const earlier = await pendingOf(trx, account_id, email, now)
  if (earlier?.role === role) return earlier
  if (earlier !== null)
    throw new ServiceError('conflict', `This address is already invited, with the role ${earlier.role}.`, {
      hint: 'Revoke that invitation first.',
      detail: { role: earlier.role },
    })
  // An expired invitation would block the insert.
  await revokePending(trx, { account_id, email }, now)
  return insertInvitation(trx, {
    invitation_id: deps.newId(),
    account_id,
    email,
    name: name ?? email.split('@')[0]!.slice(0, 100),
    role,
    sha256: null,
    admits_address: caller.actor.token_id === null || caller.actor.expires_at === null,
    invited_by: caller.actor.user_id,
    created_at: now,
    expires_at: new Date(now.getTime() + inviteDays * 86_400_000),
    accepted_at: null,
    revoked_at: null,
  })
}

/** Replaces the earlier link and restarts the seven days. */
async function makeLink(deps: InviteDeps, trx: DbOrTransaction, { invitation_id }: InvitationRow): Promise<Link> {
  // The prefix tells the page to show the invitation before it is accepted.
  const code = `inv_${base62(32, deps.randomBytes)}`
  const expires_at = new Date(deps.now().getTime() + inviteDays * 86_400_000)
  await setLink(trx, invitation_id, { sha256: sha256(code), expires_at })
  return { url: signInUrl(deps, code), expires_at: expires_at.toISOString() }
}

export async function linkInvitation(deps: InviteDeps, input: By & { id: string }): Promise<Link> {
  return deps.db.transaction().execute(async (trx) => {
    await holdMembers(trx, input.account.account_id)
    const found = isUuid(input.id) ? await pendingById(trx, input.account.account_id, input.id, deps.now()) : null
    if (found === null) throw notFound('pending invitation')
    requireFresh(deps, input.caller.actor, 'any sign-in')
    requireOwnerFor(input.account, found.role)
    const link = await makeLink(deps, trx, found)
    await record(trx, input, 'invitation.link', found, { email: found.email, role: found.role })
    return link
  })
}

export async function revokeInvitation(deps: Pick<Deps, 'db' | 'now'>, input: By & { id: string }): Promise<void> {
  const { account, id } = input
  await deps.db.transaction().execute(async (trx) => {
    await holdMembers(trx, account.account_id)
    const of = { account_id: account.account_id, invitation_id: id }
    const revoked = isUuid(id) ? await revokePending(trx, of, deps.now()) : null
    if (revoked === null) throw notFound('pending invitation')
    requireOwnerFor(account, revoked.role)
    await record(trx, input, 'invitation.revoke', revoked, null)
  })
}

function isMember({ role }: { role: Role }): ServiceError {
  return new ServiceError('conflict', `This user is already a member, with the role ${role}.`, {
    hint: 'Change their role instead.',
    detail: { role },
  })
}

function record(
  trx: DbOrTransaction,
  { account, caller }: By,
  action: string,
  { invitation_id, email, role }: InvitationRow,
  after: object | null,
): Promise<void> {
  const event = auditEvent(account, action, 'invitation', invitation_id)
  return recordAudit(trx, caller, { ...event, ...(after === null ? { before: { email, role } } : { after }) })
}
