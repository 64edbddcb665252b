/** Passwords of the dashboard: argon2id, one hash at a time per core, and no difference between a wrong password and an unknown address. */
import { ServiceError } from '@svc/contract'
import pLimit, { type LimitFunction } from 'p-limit'
import { recordAudit } from '../audit/record.ts'
import type { Caller, UserActor } from '../auth/actor.ts'
import { confirmDashboardSession, endOtherDashboardSessions } from '../auth/dashboard-session.ts'
import { isFresh, requireBrowser, requireFresh } from '../auth/fresh-sign-in.ts'
import type { Deps } from '../deps.ts'
import { onUser } from './on-user.ts'
import { countTry, type SignInTry } from './sign-in-limits.ts'
import { accountsOfUser, findPassword, firstOwner, setUserPassword } from './store.ts'
import { forgetDevices } from './trusted-devices.ts'

/** OWASP's smallest setting for argon2id; a check takes some 20 ms. */
const settings = { algorithm: 'argon2id', memoryCost: 19_456, timeCost: 2 } as const
/** Each costs 19 MiB and a core while it runs: more at once would be a way to slow the server for everyone. */
const strangersHashes = pLimit(6)
/** Strangers cannot fill these. */
const trustedHashes = pLimit(2)
const waitingMax = 500

/** The user of an e-mail address and its password. Throws the same refusal for every way this can be wrong. */
export async function checkPassword(
  deps: Pick<Deps, 'db' | 'now'>,
  input: { email: string; password: string; by: SignInTry },
): Promise<string> {
  const found = await findPassword(deps.db, { email: input.email })
  const tried = await countTry(deps, { ...input.by, email: input.email, userId: found?.user_id ?? null })
  // The hash of nothing in particular is checked too: how long the answer takes must not tell whether the address is known.
  const fits = await verify(input.password, found?.hash ?? (await dummyHash()), tried.isTrusted)
  if (!fits || found?.hash == null)
    throw new ServiceError('unauthenticated', 'E-mail or password is wrong.', {
      hint: 'An owner who forgot theirs makes a sign-in link with `svc self-host owner-link`.',
    })
  await tried.succeeded()
  return found.user_id
}

/** The password once more, in a browser that is signed in: account changes ask for it. */
export async function confirmPassword(
  deps: Pick<Deps, 'db' | 'now' | 'newId'>,
  caller: Caller<UserActor>,
  password: string,
): Promise<void> {
  const session = requireBrowser(caller.actor)
  const found = await findPassword(deps.db, { user_id: caller.actor.user_id })
  if (found?.hash == null)
    throw new ServiceError('conflict', 'You have no password yet.', {
      hint: 'Set one on your profile, right after signing in by a link, or sign in by single sign-on.',
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
  // A token that leaked must not become a way in that outlives it.
  if (session === undefined)
    throw new ServiceError('forbidden', 'A password is set in the dashboard, not with a token.', {
      hint: 'Sign in there with `svc self-host owner-link`.',
    })
  const before = await findPassword(deps.db, { user_id: userId })
  if (before?.email != null && before.email !== input.email) await refuseOtherAddress(deps, userId)
  // A forgotten password can be replaced right after a sign-in that did not need it.
  const cameOtherwise = isFresh(deps, session) && session.confirmed_by !== 'password'
  if (before?.hash == null) requireFresh(deps, caller.actor, 'any sign-in')
  else if (!cameOtherwise) {
    if (input.current_password === undefined)
      throw new ServiceError('invalid', 'The current password is missing.', {
        detail: { issues: [{ path: 'current_password', message: 'is missing' }] },
      })
    const by = { address: caller.address, device: { kind: 'session', id: session.id } } as const
    await checkPassword(deps, { email: before.email ?? '', password: input.current_password, by })
  }
  const hash = await hashPassword(input.password)
  await deps.db.transaction().execute(async (trx) => {
    // It was chosen here and now, so this browser has proved who it is.
    await confirmDashboardSession(trx, session.id, deps.now())
    await setUserPassword(trx, { user_id: userId, email: input.email, hash, changed_at: deps.now() })
    await endOtherDashboardSessions(trx, { userId, keep: session.id })
    await forgetDevices(trx, userId)
    await recordAudit(trx, caller, {
      ...(await onUser(trx, 'user.set_password', userId)),
      before: { email: before?.email ?? null },
      after: { email: input.email },
    })
  })
}

/**
 * Members are added by their address: who could take another's would be given what is meant for them. So it is given once, by
 * whoever adds them, and only the owner of the server changes their own.
 */
async function refuseOtherAddress(deps: Pick<Deps, 'db'>, userId: string): Promise<void> {
  const first = await firstOwner(deps.db)
  const accounts = await accountsOfUser(deps.db, userId)
  if (accounts.some(({ account_id, role }) => account_id === first?.account_id && role === 'owner')) return
  throw new ServiceError('forbidden', 'You sign in with the address you were added by; it cannot be changed here.', {
    hint: 'Ask an owner of the account to add your other address.',
  })
}

async function verify(password: string, hash: string, isTrusted: boolean): Promise<boolean> {
  return bounded(isTrusted ? trustedHashes : strangersHashes, () => Bun.password.verify(password, hash))
}

function hashPassword(password: string): Promise<string> {
  return bounded(trustedHashes, () => Bun.password.hash(password, settings))
}

let dummy: Promise<string> | null = null
function dummyHash(): Promise<string> {
  return (dummy ??= Bun.password.hash(crypto.randomUUID(), settings))
}

async function bounded<T>(limit: LimitFunction, work: () => Promise<T>): Promise<T> {
  if (limit.pendingCount >= waitingMax)
    throw new ServiceError('limit_reached', 'Too many people sign in at this moment. Try again in a few seconds.', {
      detail: { retry_after_seconds: 2 },
    })
  return limit(work)
}
