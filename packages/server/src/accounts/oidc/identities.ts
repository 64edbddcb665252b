/** Which of our users a person at the provider is: by who they are there, and by their address only where nobody else can have it. */
import { recordAudit } from '../../audit/record.ts'
import type { Caller, UserActor } from '../../auth/actor.ts'
import type { DbOrTransaction } from '../../db/schema.ts'
import type { Deps } from '../../deps.ts'
import { receivedInvitations } from '../invitations/store.ts'
import { onUser } from '../on-user.ts'
import { accountsOfUser, findPassword, hasActed, insertUser } from '../store.ts'
import type { Person } from './provider.ts'

export type Unknown = 'unverified' | 'unknown' | 'another' | 'unlinked'

interface Known {
  user_id: string
  /** False: nothing is theirs but an invitation to accept. */
  isMember: boolean
}

/**
 * The subject counts, never the address: addresses are given to other people in time, and an address here is what an inviter
 * or a person typed. So a verified address finds a user only in the browser in which that user is signed in, or a user whom
 * an owner added before invitations existed and who never came. A person with an invitation and no user becomes a new one.
 */
export async function userOfPerson(
  deps: Pick<Deps, 'now' | 'newId'>,
  trx: DbOrTransaction,
  person: Person,
  signedInAs: string | null,
): Promise<Known | Unknown> {
  const known = await userOfSubject(trx, person)
  if (known !== null) return returning(deps, trx, person, known)
  if (person.email === null || !person.email_verified) return 'unverified'
  // First visits take turns: another window of the same person may have come first.
  await trx.selectFrom('installation').select('singleton').forUpdate().execute()
  const byNow = await userOfSubject(trx, person)
  if (byNow !== null) return returning(deps, trx, person, byNow)
  const user = await findPassword(trx, { email: person.email })
  if (user === null) return invited(deps, trx, person)
  const other = await trx
    .selectFrom('user_identities')
    .select('subject')
    .where('issuer', '=', person.issuer)
    .where('user_id', '=', user.user_id)
    .executeTakeFirst()
  if (other !== undefined) {
    const stranger = await invited(deps, trx, person)
    return stranger === 'unknown' ? 'another' : stranger
  }
  const isMember = (await accountsOfUser(trx, user.user_id)).length > 0
  const neverCame = isMember && user.hash === null && !(await hasActed(trx, user.user_id))
  if (!neverCame && signedInAs !== user.user_id) return 'unlinked'
  await insertIdentity(trx, person, user.user_id)
  return { user_id: user.user_id, isMember }
}

async function userOfSubject(trx: DbOrTransaction, { issuer, subject }: Person): Promise<string | null> {
  const row = await trx
    .selectFrom('user_identities')
    .select('user_id')
    .where('issuer', '=', issuer)
    .where('subject', '=', subject)
    .executeTakeFirst()
  return row?.user_id ?? null
}

async function returning(
  deps: Pick<Deps, 'now'>,
  trx: DbOrTransaction,
  person: Person,
  userId: string,
): Promise<Known | Unknown> {
  const { issuer, subject } = person
  const email = person.email_verified ? person.email : null
  await trx
    .updateTable('user_identities')
    .set({ email })
    .where('issuer', '=', issuer)
    .where('subject', '=', subject)
    .execute()
  if ((await accountsOfUser(trx, userId)).length > 0) return { user_id: userId, isMember: true }
  return (await hasInvitation(deps, trx, email)) ? { user_id: userId, isMember: false } : 'unknown'
}

/** A new user of the provider's, whom an account invited by the verified address. They still have to accept. */
async function invited(
  deps: Pick<Deps, 'now' | 'newId'>,
  trx: DbOrTransaction,
  person: Person,
): Promise<Known | 'unknown'> {
  if (!(await hasInvitation(deps, trx, person.email))) return 'unknown'
  const user_id = deps.newId()
  const name = person.email!.split('@')[0]!.slice(0, 100)
  await insertUser(trx, { user_id, email: person.email, name })
  await insertIdentity(trx, person, user_id)
  return { user_id, isMember: false }
}

async function hasInvitation(deps: Pick<Deps, 'now'>, trx: DbOrTransaction, email: string | null): Promise<boolean> {
  return email !== null && (await receivedInvitations(trx, { emails: [email] }, deps.now())).rows.length > 0
}

async function insertIdentity(trx: DbOrTransaction, person: Person, userId: string): Promise<void> {
  const { issuer, subject, email } = person
  await trx.insertInto('user_identities').values({ issuer, subject, user_id: userId, email }).execute()
}

export async function recordSignIn(trx: DbOrTransaction, caller: Caller<UserActor>, person: Person): Promise<void> {
  const event = await onUser(trx, 'user.sign_in', caller.actor.user_id)
  await recordAudit(trx, caller, { ...event, after: { issuer: person.issuer, email: person.email } })
}
