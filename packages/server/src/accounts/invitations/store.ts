/** All SQL on invitations. An expired one counts as none. */
import type { Role } from '@svc/contract'
import type { DbOrTransaction, NewRow, Row } from '../../db/schema.ts'
import { cutPage, readIdCursor } from '../../http/page.ts'

export type InvitationRow = Row<'invitations'>

export async function insertInvitation(trx: DbOrTransaction, row: NewRow<'invitations'>): Promise<InvitationRow> {
  return trx.insertInto('invitations').values(row).returningAll().executeTakeFirstOrThrow()
}

function pending(db: DbOrTransaction, now: Date) {
  return db
    .selectFrom('invitations')
    .where('accepted_at', 'is', null)
    .where('revoked_at', 'is', null)
    .where('invitations.expires_at', '>', now.toISOString())
}

export async function pendingOf(db: DbOrTransaction, accountId: string, email: string, now: Date) {
  const found = pending(db, now).selectAll().where('account_id', '=', accountId).where('email', '=', email)
  return (await found.executeTakeFirst()) ?? null
}

export async function pendingById(db: DbOrTransaction, accountId: string, id: string, now: Date) {
  const found = pending(db, now).selectAll().where('account_id', '=', accountId).where('invitation_id', '=', id)
  return (await found.executeTakeFirst()) ?? null
}

/** As the invited person sees them: by the code of a link, or those that a verified address admits to. */
export async function receivedInvitations(
  db: DbOrTransaction,
  by: { sha256: Buffer } | { emails: string[] },
  now: Date,
  page: { limit: number; cursor?: string | undefined } = { limit: 1 },
) {
  const after = readIdCursor(page.cursor)
  if ('emails' in by && by.emails.length === 0) return { rows: [], next: null }
  let query = pending(db, now)
    .innerJoin('accounts', 'accounts.account_id', 'invitations.account_id')
    .leftJoin('users', 'users.user_id', 'invitations.invited_by')
    .select(['invitation_id', 'accounts.name as account_name', 'users.name as invited_by', 'invitations.email'])
    .select(['role', 'invitations.created_at', 'invitations.expires_at'])
    .orderBy('invitations.created_at', 'desc')
    .orderBy('invitation_id', 'desc')
    .limit(page.limit + 1)
  if ('sha256' in by) query = query.where('sha256', '=', by.sha256)
  else query = query.where('admits_address', '=', true).where('invitations.email', 'in', by.emails)
  if (after !== null)
    query = query.where(({ eb, refTuple, tuple }) =>
      eb(refTuple('invitations.created_at', 'invitation_id'), '<', tuple(after[0], after[1])),
    )
  return cutPage(await query.execute(), page.limit, (last) => [last.created_at, last.invitation_id])
}

export async function listInvitations(
  db: DbOrTransaction,
  accountId: string,
  now: Date,
  page: { limit: number; cursor?: string | undefined },
) {
  const after = readIdCursor(page.cursor)
  let query = pending(db, now)
    .leftJoin('users', 'users.user_id', 'invitations.invited_by')
    .select(['invitation_id', 'invitations.email', 'invitations.name', 'role', 'sha256', 'invited_by'])
    .select(['users.name as inviter', 'invitations.created_at', 'invitations.expires_at'])
    .where('account_id', '=', accountId)
    .orderBy('invitations.created_at', 'desc')
    .orderBy('invitation_id', 'desc')
    .limit(page.limit + 1)
  if (after !== null)
    query = query.where(({ eb, refTuple, tuple }) =>
      eb(refTuple('invitations.created_at', 'invitation_id'), '<', tuple(after[0], after[1])),
    )
  return cutPage(await query.execute(), page.limit, (last) => [last.created_at, last.invitation_id])
}

export async function setLink(
  trx: DbOrTransaction,
  id: string,
  link: { sha256: Buffer; expires_at: Date },
): Promise<void> {
  await trx
    .updateTable('invitations')
    .set({ ...link, admits_address: true })
    .where('invitation_id', '=', id)
    .execute()
}

/** The link was made for another role, so it ends; who wants one for this role makes it. */
export async function setInvitedRole(trx: DbOrTransaction, id: string, role: Role): Promise<void> {
  await trx
    .updateTable('invitations')
    .set({ role, sha256: null, admits_address: false })
    .where('invitation_id', '=', id)
    .execute()
}

/** Revokes one, or those of an address that have expired and stand in the way of a new one. */
export async function revokePending(
  trx: DbOrTransaction,
  of: { accountId: string; invitationId: string } | { accountId: string; email: string },
  now: Date,
): Promise<InvitationRow | null> {
  let query = trx
    .updateTable('invitations')
    .set({ revoked_at: now })
    .where('account_id', '=', of.accountId)
    .where('accepted_at', 'is', null)
    .where('revoked_at', 'is', null)
  query =
    'invitationId' in of ? query.where('invitation_id', '=', of.invitationId) : query.where('email', '=', of.email)
  return (await query.returningAll().executeTakeFirst()) ?? null
}

/** Accepted once, however many try: the condition decides. */
export async function takeInvitation(
  trx: DbOrTransaction,
  by: { sha256: Buffer } | { invitationId: string; emails: string[] },
  now: Date,
): Promise<InvitationRow | null> {
  let query = trx
    .updateTable('invitations')
    .set({ accepted_at: now })
    .where('accepted_at', 'is', null)
    .where('revoked_at', 'is', null)
    .where('expires_at', '>', now.toISOString())
  if ('sha256' in by) query = query.where('sha256', '=', by.sha256)
  else
    query = query
      .where('invitation_id', '=', by.invitationId)
      .where('email', 'in', by.emails)
      .where('admits_address', '=', true)
  return (await query.returningAll().executeTakeFirst()) ?? null
}

/** The addresses a provider verified for this user. What a person or an inviter typed is no proof. */
export async function verifiedAddresses(db: DbOrTransaction, userId: string): Promise<string[]> {
  const rows = await db
    .selectFrom('user_identities')
    .select('email')
    .where('user_id', '=', userId)
    .where('email', 'is not', null)
    .execute()
  return rows.map(({ email }) => email!)
}
