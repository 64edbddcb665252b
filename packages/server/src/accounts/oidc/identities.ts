/** Maps a person at the provider to a user: by subject, and by address only where no one else can have it. */
import { recordAudit } from '../../audit/record.ts'
import type { Caller, UserActor } from '../../auth/actor.ts'
import type { DbOrTransaction } from '../../db/schema.ts'
import type { Deps } from '../../deps.ts'
import { receivedInvitations } from '../invitations/store.ts'
import { hasIdentity, insertIdentity, setIdentityEmail, userOfSubject } from './identity-store.ts'
import { onUser } from '../on-user.ts'
import { accountsOfUser, findPassword, hasActed, insertUser, lockInstallation } from '../store.ts'
import type { Person } from './provider.ts'

export type Unknown = 'unverified' | 'unknown' | 'another' | 'unlinked'

interface Known {
  user_id: string
  /** False when the user belongs to no account and only has an invitation. */
  isMember: boolean
}

/**
 * The subject identifies a user, never the address: addresses change hands, and an inviter or user typed the one
 * stored here. A verified address therefore finds only the user who is signed in to this browser, or one whom an owner
 * added before invitations existed and who never signed in. A person with an invitation becomes a new user.
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
  // First visits run one after the other: another window of the same person may have been faster.
  await lockInstallation(trx)
  const byNow = await userOfSubject(trx, person)
  if (byNow !== null) return returning(deps, trx, person, byNow)
  const user = await findPassword(trx, { email: person.email })
  if (user === null) return createInvited(deps, trx, person)
  if (await hasIdentity(trx, person.issuer, user.user_id)) {
    const outcome = await createInvited(deps, trx, person)
    return outcome === 'unknown' ? 'another' : outcome
  }
  const isMember = (await accountsOfUser(trx, user.user_id)).length > 0
  const neverSignedIn = isMember && user.hash === null && !(await hasActed(trx, user.user_id))
  if (!neverSignedIn && signedInAs !== user.user_id) return 'unlinked'
  await insertIdentity(trx, person, user.user_id)
  return { user_id: user.user_id, isMember }
}

async function returning(
  deps: Pick<Deps, 'now'>,
  trx: DbOrTransaction,
  person: Person,
  userId: string,
): Promise<Known | Unknown> {
  const email = person.email_verified ? person.email : null
  await setIdentityEmail(trx, { ...person, email })
  if ((await accountsOfUser(trx, userId)).length > 0) return { user_id: userId, isMember: true }
  return (await hasInvitation(deps, trx, email)) ? { user_id: userId, isMember: false } : 'unknown'
}

/** Creates a user for a person whose verified address has an invitation, which they still have to accept. */
async function createInvited(
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

export async function recordSignIn(trx: DbOrTransaction, caller: Caller<UserActor>, person: Person): Promise<void> {
  const event = await onUser(trx, 'user.sign_in', caller.actor.user_id)
  await recordAudit(trx, caller, { ...event, after: { issuer: person.issuer, email: person.email } })
}
