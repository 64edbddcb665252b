import type { Role } from '@svc/contract'
import type { DbOrTransaction } from '../db/schema.ts'

export async function getUser(db: DbOrTransaction, userId: string) {
  return db
    .selectFrom('users')
    .select(['user_id', 'name', 'email'])
    .where('user_id', '=', userId)
    .executeTakeFirstOrThrow()
}

/** The accounts of a user, the oldest first: it is the one they start in. */
export async function accountsOfUser(db: DbOrTransaction, userId: string) {
  return db
    .selectFrom('account_members')
    .innerJoin('accounts', 'accounts.account_id', 'account_members.account_id')
    .select(['accounts.account_id', 'accounts.name', 'accounts.plan', 'account_members.role'])
    .where('account_members.user_id', '=', userId)
    .orderBy('accounts.created_at')
    .orderBy('accounts.account_id')
    .execute()
}

export async function getAccount(db: DbOrTransaction, accountId: string) {
  return db
    .selectFrom('accounts')
    .select(['account_id', 'name', 'plan'])
    .where('account_id', '=', accountId)
    .executeTakeFirstOrThrow()
}

export async function insertAccountWithOwner(
  db: DbOrTransaction,
  input: { account_id: string; user_id: string; account_name: string; user_name: string; plan: 'selfhost' },
): Promise<void> {
  await db
    .insertInto('accounts')
    .values({ account_id: input.account_id, name: input.account_name, plan: input.plan })
    .execute()
  await db.insertInto('users').values({ user_id: input.user_id, name: input.user_name, email: null }).execute()
  await insertMember(db, { account_id: input.account_id, user_id: input.user_id, role: 'owner' })
}

export async function insertMember(
  db: DbOrTransaction,
  member: { account_id: string; user_id: string; role: Role },
): Promise<void> {
  await db.insertInto('account_members').values(member).execute()
}

/** The first owner there is: whom the owner link of a fresh server signs in. */
export async function firstOwner(db: DbOrTransaction): Promise<{ user_id: string; account_id: string } | null> {
  const row = await db
    .selectFrom('account_members')
    .select(['user_id', 'account_id'])
    .where('role', '=', 'owner')
    .orderBy('created_at')
    .orderBy('user_id')
    .executeTakeFirst()
  return row ?? null
}
