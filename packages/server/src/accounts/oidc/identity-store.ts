import type { DbOrTransaction } from '../../db/schema.ts'
import { findRow, insertRow, listRows, updateRows } from '../../db/rows.ts'

interface Identity {
  issuer: string
  subject: string
  email: string | null
}

export async function userOfSubject(db: DbOrTransaction, { issuer, subject }: Pick<Identity, 'issuer' | 'subject'>) {
  return (await findRow(db, 'user_identities', { issuer, subject }))?.user_id ?? null
}

export async function hasIdentity(db: DbOrTransaction, issuer: string, userId: string): Promise<boolean> {
  return (await findRow(db, 'user_identities', { issuer, user_id: userId })) !== null
}

export function insertIdentity(db: DbOrTransaction, { issuer, subject, email }: Identity, userId: string) {
  return insertRow(db, 'user_identities', { issuer, subject, user_id: userId, email })
}

export async function setIdentityEmail(db: DbOrTransaction, { issuer, subject, email }: Identity): Promise<void> {
  await updateRows(db, 'user_identities', { issuer, subject }, { email })
}

/** Addresses a provider verified for this user. An address that someone typed proves nothing. */
export async function verifiedAddresses(db: DbOrTransaction, userId: string): Promise<string[]> {
  const rows = await listRows(db, 'user_identities', { user_id: userId })
  return rows.flatMap(({ email }) => email ?? [])
}
