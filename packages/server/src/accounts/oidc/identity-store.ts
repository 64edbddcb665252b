import type { DbOrTransaction } from '../../db/schema.ts'
import { hasRow, updateRows } from '../../db/rows.ts'

interface Identity {
  issuer: string
  subject: string
  email: string | null
}

export async function userOfSubject(db: DbOrTransaction, { issuer, subject }: Pick<Identity, 'issuer' | 'subject'>) {
  const row = await db
    .selectFrom('user_identities')
    .select('user_id')
    .where((eb) => eb.and({ issuer, subject }))
    .executeTakeFirst()
  return row?.user_id ?? null
}

export async function hasIdentity(db: DbOrTransaction, issuer: string, userId: string): Promise<boolean> {
  return hasRow(
    db
      .selectFrom('user_identities')
      .select('subject')
      .where((eb) => eb.and({ issuer, user_id: userId })),
  )
}

export async function insertIdentity(db: DbOrTransaction, { issuer, subject, email }: Identity, userId: string) {
  await db.insertInto('user_identities').values({ issuer, subject, user_id: userId, email }).execute()
}

export async function setIdentityEmail(db: DbOrTransaction, { issuer, subject, email }: Identity): Promise<void> {
  await updateRows(db, 'user_identities', { issuer, subject }, { email })
}

/** Addresses a provider verified for this user. An address that someone typed proves nothing. */
export async function verifiedAddresses(db: DbOrTransaction, userId: string): Promise<string[]> {
  const rows = await db
    .selectFrom('user_identities')
    .select('email')
    .where('user_id', '=', userId)
    .where('email', 'is not', null)
    .execute()
  return rows.map(({ email }) => email!)
}
