import { sql } from 'kysely'
import { type Plan, type Role, ServiceError } from '@svc/contract'
import type { DbOrTransaction } from '../db/schema.ts'
import { type PageQuery, readPage } from '../db/read-page.ts'
import { accountSlug } from './slug.ts'
import {
  deleteRows,
  findRow,
  firstRow,
  hasRow,
  insertIfNew,
  insertRow,
  listRows,
  lockRow,
  updateRows,
  upsertRow,
} from '../db/rows.ts'

export async function getUser(db: DbOrTransaction, userId: string) {
  return db
    .selectFrom('users')
    .select(['user_id', 'name', 'email'])
    .where('user_id', '=', userId)
    .executeTakeFirstOrThrow()
}

/** The accounts of a user, oldest first; the first is their default. */
export async function accountsOfUser(db: DbOrTransaction, userId: string) {
  const rows = await db
    .selectFrom('account_members')
    .innerJoin('accounts', 'accounts.account_id', 'account_members.account_id')
    .select(['accounts.account_id', 'accounts.name', 'accounts.plan', 'account_members.role'])
    .where('account_members.user_id', '=', userId)
    .orderBy('accounts.created_at')
    .orderBy('accounts.account_id')
    .execute()
  return rows.map((row) => ({ ...row, slug: accountSlug(row) }))
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
  input: { account_id: string; user_id: string; account_name: string; user_name: string; plan: Plan },
): Promise<void> {
  await insertAccount(db, { account_id: input.account_id, name: input.account_name, plan: input.plan })
  await insertRow(db, 'users', { user_id: input.user_id, name: input.user_name, email: null })
  await insertMember(db, { account_id: input.account_id, user_id: input.user_id, role: 'owner' })
}

/** False when an earlier attempt of the same request inserted it. */
export function insertAccount(db: DbOrTransaction, row: { account_id: string; name: string; plan: Plan }) {
  return insertIfNew(db, 'accounts', row, ['account_id'])
}

export async function updateAccountRow(db: DbOrTransaction, accountId: string, set: { name: string; plan: Plan }) {
  await updateRows(db, 'accounts', { account_id: accountId }, set)
}

/** Returns the cap it replaces. */
export async function replaceModelCap(db: DbOrTransaction, accountId: string, tokens: number | null) {
  const before = await lockRow(db, 'accounts', { account_id: accountId })
  await updateRows(db, 'accounts', { account_id: accountId }, { model_tokens_per_month: tokens })
  return before?.model_tokens_per_month ?? null
}

export function insertMember(db: DbOrTransaction, member: { account_id: string; user_id: string; role: Role }) {
  return insertRow(db, 'account_members', member)
}

function members(db: DbOrTransaction, accountId: string) {
  return db
    .selectFrom('account_members')
    .innerJoin('users', 'users.user_id', 'account_members.user_id')
    .select(['users.user_id', 'users.name', 'users.email', 'account_members.role', 'account_members.created_at'])
    .where('account_members.account_id', '=', accountId)
}

/** Ordered by the time they joined. */
export function listMembers(db: DbOrTransaction, accountId: string, page: PageQuery) {
  return readPage(members(db, accountId), ['account_members.created_at', 'users.user_id'], 'asc', page)
}

export async function getMember(db: DbOrTransaction, accountId: string, userId: string) {
  return firstRow(members(db, accountId).where('users.user_id', '=', userId))
}

export async function memberByEmail(db: DbOrTransaction, accountId: string, email: string) {
  return firstRow(members(db, accountId).where('users.email', '=', email))
}

/** Serializes changes to members until the transaction ends: two owners who remove each other would otherwise leave none. */
export async function holdMembers(trx: DbOrTransaction, accountId: string): Promise<void> {
  await lockRow(trx, 'accounts', { account_id: accountId })
}

/** Serializes the creation of users and accounts until the transaction ends. */
export async function lockInstallation(trx: DbOrTransaction): Promise<void> {
  await trx.selectFrom('installation').select('singleton').forUpdate().execute()
}

export async function countOwners(db: DbOrTransaction, accountId: string): Promise<number> {
  return (await listRows(db, 'account_members', { account_id: accountId, role: 'owner' })).length
}

export async function setRole(db: DbOrTransaction, accountId: string, userId: string, role: Role): Promise<void> {
  await updateRows(db, 'account_members', { account_id: accountId, user_id: userId }, { role })
}

export async function deleteMember(db: DbOrTransaction, accountId: string, userId: string): Promise<void> {
  await deleteRows(db, 'account_members', { account_id: accountId, user_id: userId })
}

/** Sets the address only if no other user has it. */
export async function insertUser(db: DbOrTransaction, user: { user_id: string; email: string | null; name: string }) {
  if (!(await insertIfNew(db, 'users', user, ['email']))) await insertRow(db, 'users', { ...user, email: null })
}

/** Whether the user ever signed in or changed anything, by the audit log. */
export async function hasActed(db: DbOrTransaction, userId: string): Promise<boolean> {
  return hasRow(db.selectFrom('audit_events').select('event_id').where('actor_user_id', '=', userId).limit(1))
}

/** The first owner of the first account, whom a fresh server's owner link signs in. */
export async function firstOwner(db: DbOrTransaction): Promise<{ user_id: string; account_id: string } | null> {
  return firstRow(
    db
      .selectFrom('account_members')
      .innerJoin('accounts', 'accounts.account_id', 'account_members.account_id')
      .select(['account_members.user_id', 'account_members.account_id'])
      .where('account_members.role', '=', 'owner')
      // By the account's age: an owner added later must not make another account the first one.
      .orderBy('accounts.created_at')
      .orderBy('accounts.account_id')
      .orderBy('account_members.created_at')
      .orderBy('account_members.user_id'),
  )
}

/** Reads the id of the first account once, for many who ask in a moment. Null: this instance has no owner yet. */
export function firstAccountOf(db: DbOrTransaction): FirstAccount {
  let asked: Promise<string | null> | null = null
  return () => (asked ??= firstOwner(db).then((owner) => owner?.account_id ?? null))
}

export type FirstAccount = () => Promise<string | null>

interface OfInstance {
  account_id: string
  owner?: string | undefined
  firstAccount?: FirstAccount | undefined
}

/** Whether the account is the first one of this instance and, if given, `owner` owns it. */
export async function isOfInstance(
  db: DbOrTransaction,
  { account_id, owner, firstAccount = firstAccountOf(db) }: OfInstance,
): Promise<boolean> {
  if ((await firstAccount()) !== account_id) return false
  return owner === undefined || (await getMember(db, account_id, owner))?.role === 'owner'
}

/** The first account of this instance if the user is one of its owners. */
export async function instanceOwnedBy(db: DbOrTransaction, userId: string): Promise<string | null> {
  const first = await firstOwner(db)
  if (first === null || (await getMember(db, first.account_id, userId))?.role !== 'owner') return null
  return first.account_id
}

export async function findPassword(db: DbOrTransaction, by: { email: string } | { user_id: string }) {
  const users = db
    .selectFrom('users')
    .leftJoin('user_passwords', 'user_passwords.user_id', 'users.user_id')
    .select(['users.user_id', 'users.email', 'user_passwords.hash'])
  const found =
    'email' in by ? users.where('users.email', '=', by.email) : users.where('users.user_id', '=', by.user_id)
  return firstRow(found)
}

/** Throws `conflict` when another user has the address. */
export async function setUserPassword(
  db: DbOrTransaction,
  user: { user_id: string; email: string; hash: string; changed_at: Date },
): Promise<void> {
  const { user_id, email, hash, changed_at } = user
  const other = await findRow(db, 'users', { email, user_id: sql`<> ${user_id}` })
  if (other !== null) throw new ServiceError('conflict', 'Another user already has this email address.')
  await updateRows(db, 'users', { user_id }, { email })
  await upsertRow(db, 'user_passwords', { user_id, hash, changed_at }, 'user_id')
}
