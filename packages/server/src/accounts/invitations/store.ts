/** SQL on invitations. Expired ones are ignored. */
import type { Role } from '@svc/contract'
import type { DbOrTransaction, NewRow, Row } from '../../db/schema.ts'
import { sql } from 'kysely'
import { type PageQuery, readPage } from '../../db/read-page.ts'
import { findRow, updateRow, updateRows } from '../../db/rows.ts'

export type InvitationRow = Row<'invitations'>
const unanswered = { accepted_at: null, revoked_at: null }

export async function insertInvitation(trx: DbOrTransaction, row: NewRow<'invitations'>): Promise<InvitationRow> {
  return trx.insertInto('invitations').values(row).returningAll().executeTakeFirstOrThrow()
}

export function pendingOf(db: DbOrTransaction, accountId: string, email: string, now: Date) {
  return findRow(db, 'invitations', { account_id: accountId, email, ...unanswered, expires_at: sql`> ${now}` })
}

export function pendingById(db: DbOrTransaction, accountId: string, id: string, now: Date) {
  const pending = { ...unanswered, expires_at: sql`> ${now}` }
  return findRow(db, 'invitations', { account_id: accountId, invitation_id: id, ...pending })
}

function pendingWithInviter(db: DbOrTransaction, now: Date) {
  return db
    .selectFrom('invitations')
    .where('accepted_at', 'is', null)
    .where('revoked_at', 'is', null)
    .where('invitations.expires_at', '>', now.toISOString())
    .leftJoin('users', 'users.user_id', 'invitations.invited_by')
    .select(['invitation_id', 'invitations.email', 'role', 'invitations.created_at', 'invitations.expires_at'])
}

const newestFirst = [['invitations.created_at', 'invitation_id'], 'desc'] as [[string, string], 'desc']

/** The invited user's view: by the code of a link, or all that a verified address admits to. */
export async function receivedInvitations(
  db: DbOrTransaction,
  by: { sha256: Buffer } | { emails: string[] },
  now: Date,
  page: PageQuery = { limit: 1 },
) {
  let query = pendingWithInviter(db, now)
    .innerJoin('accounts', 'accounts.account_id', 'invitations.account_id')
    .select(['accounts.name as account_name', 'users.name as invited_by'])
  if ('sha256' in by) query = query.where('sha256', '=', by.sha256)
  else query = query.where('admits_address', '=', true).where('invitations.email', '=', sql<string>`any(${by.emails})`)
  return readPage(query, ...newestFirst, page)
}

export async function listInvitations(db: DbOrTransaction, accountId: string, now: Date, page: PageQuery) {
  const query = pendingWithInviter(db, now)
    .select(['invitations.name', 'sha256', 'invited_by', 'users.name as inviter'])
    .where('account_id', '=', accountId)
  return readPage(query, ...newestFirst, page)
}

export async function setLink(trx: DbOrTransaction, id: string, link: { sha256: Buffer; expires_at: Date }) {
  await updateRows(trx, 'invitations', { invitation_id: id }, { ...link, admits_address: true })
}

/** Revokes the link, because it was made for another role. */
export async function setInvitedRole(trx: DbOrTransaction, id: string, role: Role): Promise<void> {
  await updateRows(trx, 'invitations', { invitation_id: id }, { role, sha256: null, admits_address: false })
}

/** Revokes one invitation, or the expired ones of an address, which would block a new one. */
export function revokePending(
  trx: DbOrTransaction,
  of: { account_id: string; invitation_id: string } | { account_id: string; email: string },
  now: Date,
): Promise<InvitationRow | null> {
  return updateRow(trx, 'invitations', { ...unanswered, ...of }, { revoked_at: now })
}

/** The condition makes an invitation work once, even for concurrent requests. */
export function takeInvitation(
  trx: DbOrTransaction,
  by: { sha256: Buffer } | { invitation_id: string; email: string[] },
  now: Date,
): Promise<InvitationRow | null> {
  const admitting = 'sha256' in by ? by : { ...by, admits_address: true }
  const valid = { ...unanswered, expires_at: sql`> ${now}` }
  return updateRow(trx, 'invitations', { ...valid, ...admitting }, { accepted_at: now })
}
