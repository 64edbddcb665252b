/** Passwords for the dashboard, hashed with argon2id. A wrong password and an unknown address get the same response. */
import { ServiceError } from '@svc/contract'
import pLimit, { type LimitFunction } from 'p-limit'
import { recordAudit } from '../../audit/record.ts'
import type { Caller, UserActor } from '../../auth/actor.ts'
import { confirmDashboardSession, endOtherDashboardSessions } from '../../auth/dashboard-session.ts'
import { isFresh, requireBrowser, requireFresh } from '../../auth/fresh-sign-in.ts'
import type { Deps } from '../../deps.ts'
import { onUser } from '../on-user.ts'
import { countTry, type SignInTry } from './sign-in-limits.ts'
import { accountsOfUser, findPassword, firstOwner, setUserPassword } from '../store.ts'
import { deleteTrustedDevices } from './store.ts'

/** OWASP's minimum for argon2id; a check takes about 20 ms. */
const settings = { algorithm: 'argon2id', memoryCost: 19_456, timeCost: 2 } as const
/** Each hash uses 19 MiB and a core, so unlimited ones would slow the server for everyone. */
const unknownBrowserHashes = pLimit(6)
/** Reserved for known browsers, so that strangers cannot occupy all slots. */
const trustedBrowserHashes = pLimit(2)
const queuedMax = 500

/** Returns the user of an address and password. Every failure throws the same error. */
export async function checkPassword(
  deps: Pick<Deps, 'db' | 'now'>,
  input: { email: string; password: string; by: SignInTry },
): Promise<string> {
  const found = await findPassword(deps.db, { email: input.email })
  const tried = await countTry(deps, { ...input.by, email: input.email, userId: found?.user_id ?? null })
  // Verify against a dummy hash too, so that timing does not reveal whether the address exists.
  const fits = await verify(input.password, found?.hash ?? (await dummyHash()), tried.isTrusted)
  if (!fits || found?.hash == null)
    throw new ServiceError('unauthenticated', 'The email address or password is wrong.', {
      hint: 'An owner who forgot the password can create a sign-in link with `svc self-host owner-link`.',
    })
  await tried.succeeded()
  return found.user_id
}

/** Confirms the password in a signed-in browser, which changes to an account require. */
export async function confirmPassword(
  deps: Pick<Deps, 'db' | 'now' | 'newId'>,
  caller: Caller<UserActor>,
  password: string,
): Promise<void> {
  const session = requireBrowser(caller.actor)
  const found = await findPassword(deps.db, { user_id: caller.actor.user_id })
  if (found?.hash == null)
    throw new ServiceError('conflict', 'You have no password yet.', {
      hint: 'Set one on your profile right after signing in with a link, or use single sign-on.',
    })
  const by = { address: caller.address, device: { kind: 'session', id: session.id } } as const
  await checkPassword(deps, { email: found.email ?? '', password, by })
  await deps.db.transaction().execute(async (trx) => {
    await confirmDashboardSession(trx, session.id, deps.now())
    await recordAudit(trx, caller, {
      ...(await onUser(trx, 'dashboard_session.confirm', caller.actor.user_id)),
      object_type: 'dashboard_session',
      object_id: session.id,
    })
  })
}

export async function setPassword(
  deps: Pick<Deps, 'db' | 'now' | 'newId'>,
  caller: Caller<UserActor>,
  input: { email: string; password: string; current_password?: string | undefined },
): Promise<void> {
  const { user_id: userId, dashboard_session: session } = caller.actor
  // A leaked token must not become a sign-in that outlives it.
  if (session === undefined)
    throw new ServiceError('forbidden', 'A token cannot set a password. Set it in the dashboard.', {
      hint: 'Sign in there with a link from `svc self-host owner-link`.',
    })
  const before = await findPassword(deps.db, { user_id: userId })
  if (before?.email != null && before.email !== input.email) await refuseOtherAddress(deps, userId)
  // Right after a sign-in without password, a forgotten one can be replaced.
  const signedInWithoutPassword = isFresh(deps, session) && session.confirmed_by !== 'password'
  if (before?.hash == null) requireFresh(deps, caller.actor, 'any sign-in')
  else if (!signedInWithoutPassword) {
    if (input.current_password === undefined)
      throw new ServiceError('invalid', 'The current password is missing.', {
        detail: { issues: [{ path: 'current_password', message: 'is missing' }] },
      })
    const by = { address: caller.address, device: { kind: 'session', id: session.id } } as const
    await checkPassword(deps, { email: before.email ?? '', password: input.current_password, by })
  }
  const hash = await hashPassword(input.password)
  await deps.db.transaction().execute(async (trx) => {
    // Choosing a password proves the identity of this browser's user.
    await confirmDashboardSession(trx, session.id, deps.now())
    await setUserPassword(trx, { user_id: userId, email: input.email, hash, changed_at: deps.now() })
    await endOtherDashboardSessions(trx, { userId, keep: session.id })
    await deleteTrustedDevices(trx, userId)
    await recordAudit(trx, caller, {
      ...(await onUser(trx, 'user.set_password', userId)),
      before: { email: before?.email ?? null },
      after: { email: input.email },
    })
  })
}

/**
 * Members are added by their address, so a user who could take another's address would receive what is meant for its
 * owner. Whoever adds a user sets the address; only owners of the instance change their own.
 */
async function refuseOtherAddress(deps: Pick<Deps, 'db'>, userId: string): Promise<void> {
  const first = await firstOwner(deps.db)
  const accounts = await accountsOfUser(deps.db, userId)
  if (accounts.some(({ account_id, role }) => account_id === first?.account_id && role === 'owner')) return
  throw new ServiceError('forbidden', 'You cannot change your sign-in address here.', {
    hint: 'Ask an owner of the account to invite your other address.',
  })
}

async function verify(password: string, hash: string, isTrusted: boolean): Promise<boolean> {
  return bounded(isTrusted ? trustedBrowserHashes : unknownBrowserHashes, () => Bun.password.verify(password, hash))
}

function hashPassword(password: string): Promise<string> {
  return bounded(trustedBrowserHashes, () => Bun.password.hash(password, settings))
}

let dummy: Promise<string> | null = null
function dummyHash(): Promise<string> {
  return (dummy ??= Bun.password.hash(crypto.randomUUID(), settings))
}

async function bounded<T>(limit: LimitFunction, work: () => Promise<T>): Promise<T> {
  if (limit.pendingCount >= queuedMax)
    throw new ServiceError('limit_reached', 'Too many users are signing in. Try again in a few seconds.', {
      detail: { retry_after_seconds: 2 },
    })
  return limit(work)
}
