/** Which of our users a person at the provider is: by who they are there, and the first time by their address. */
import { recordAudit } from '../../audit/record.ts'
import type { Caller, UserActor } from '../../auth/actor.ts'
import type { DbOrTransaction } from '../../db/schema.ts'
import { onUser } from '../on-user.ts'
import { accountsOfUser } from '../store.ts'
import type { Person } from './provider.ts'

export type Unknown = 'unverified' | 'unknown' | 'another'

/**
 * Nobody becomes a user by signing in: an owner adds them first. The address counts once, and only where the provider says it is
 * theirs; afterwards it is the subject that counts, because addresses are given to other people in time.
 */
export async function userOfPerson(trx: DbOrTransaction, person: Person): Promise<{ user_id: string } | Unknown> {
  const known = await trx
    .selectFrom('user_identities')
    .select('user_id')
    .where('issuer', '=', person.issuer)
    .where('subject', '=', person.subject)
    .executeTakeFirst()
  if (known !== undefined) return (await isMember(trx, known.user_id)) ? known : 'unknown'
  if (person.email === null || !person.email_verified) return 'unverified'
  const user = await trx
    .selectFrom('users')
    .select('user_id')
    .where('email', '=', person.email)
    .forUpdate()
    .executeTakeFirst()
  if (user === undefined || !(await isMember(trx, user.user_id))) return 'unknown'
  const other = await trx
    .selectFrom('user_identities')
    .select('subject')
    .where('issuer', '=', person.issuer)
    .where('user_id', '=', user.user_id)
    .executeTakeFirst()
  // Read only now that the user is locked: another window of the same person may have come first.
  if (other !== undefined) return other.subject === person.subject ? user : 'another'
  await trx
    .insertInto('user_identities')
    .values({ issuer: person.issuer, subject: person.subject, user_id: user.user_id })
    .execute()
  return user
}

export async function recordSignIn(trx: DbOrTransaction, caller: Caller<UserActor>, person: Person): Promise<void> {
  const event = await onUser(trx, 'user.sign_in', caller.actor.user_id)
  await recordAudit(trx, caller, { ...event, after: { issuer: person.issuer, email: person.email } })
}

/** Who belongs to no account any more may be added again, and is then known by their address as at first. */
export async function forgetIdentities(trx: DbOrTransaction, userId: string): Promise<void> {
  if (await isMember(trx, userId)) return
  await trx.deleteFrom('user_identities').where('user_id', '=', userId).execute()
}

async function isMember(db: DbOrTransaction, userId: string): Promise<boolean> {
  return (await accountsOfUser(db, userId)).length > 0
}
