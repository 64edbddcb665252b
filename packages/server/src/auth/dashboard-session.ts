/** The dashboard's cookie: who it is, and that the request comes from our own page. */
import { parse } from 'hono/utils/cookie'
import { base62, ServiceError, type SignInWay } from '@svc/contract'
import type { DbOrTransaction } from '../db/schema.ts'
import type { Deps } from '../deps.ts'
import type { UserActor } from './actor.ts'
import { isOriginOf } from '../http/own-origin.ts'
import { sha256, unauthenticated } from './credentials.ts'

const sessionDays = 30

/** `__Host-` needs https, so a loopback http server uses the plain name. */
export function cookieName(publicUrl: string): string {
  return publicUrl.startsWith('https:') ? '__Host-svc_session' : 'svc_session'
}

export async function actorOfCookie(
  deps: Pick<Deps, 'db' | 'now' | 'config' | 'log'>,
  request: {
    cookie: string | null
    method: string
    origin: string | null
    secFetchSite: string | null
    host: string | null
  },
): Promise<UserActor> {
  const value = request.cookie === null ? undefined : parse(request.cookie)[cookieName(deps.config.publicUrl)]
  if (value === undefined) throw unauthenticated('This needs a token.')
  refuseForeignOrigin(deps.config.publicUrl, request)
  const row = await sessionOfValue(deps, value)
  if (row === undefined)
    throw unauthenticated(
      'Your sign-in has ended.',
      'Sign in again on the page; an owner can also make a link with `svc self-host owner-link`.',
    )
  if (row.last_used_at === null || Date.parse(row.last_used_at) < deps.now().getTime() - 60_000)
    noteUse(deps, row.dashboard_session_id)
  return {
    kind: 'user',
    user_id: row.user_id,
    token_id: null,
    expires_at: row.expires_at,
    dashboard_session: {
      id: row.dashboard_session_id,
      began_by: row.began_by,
      created_at: row.created_at,
      confirmed_at: row.confirmed_at,
      confirmed_by: row.confirmed_by,
    },
  }
}

function sessionOfValue(deps: Pick<Deps, 'db' | 'now'>, value: string) {
  return deps.db
    .selectFrom('dashboard_sessions')
    .select(['user_id', 'created_at', 'expires_at', 'dashboard_session_id', 'began_by', 'last_used_at'])
    .select(['confirmed_at', 'confirmed_by'])
    .where('sha256', '=', sha256(value))
    .where('expires_at', '>', deps.now().toISOString())
    .executeTakeFirst()
}

/** The user this browser is signed in as, for a request that comes back from the provider and is guarded by its own cookie. */
export async function userOfCookie(
  deps: Pick<Deps, 'db' | 'now' | 'config'>,
  header: string | undefined,
): Promise<string | null> {
  const value = header === undefined ? undefined : parse(header)[cookieName(deps.config.publicUrl)]
  return value === undefined ? null : ((await sessionOfValue(deps, value))?.user_id ?? null)
}

/** The person at this browser has just given their password. */
export async function confirmDashboardSession(db: DbOrTransaction, id: string, at: Date): Promise<void> {
  await db
    .updateTable('dashboard_sessions')
    .set({ confirmed_at: at, confirmed_by: 'password' })
    .where('dashboard_session_id', '=', id)
    .execute()
}

/** When a browser was last seen is a courtesy to its owner: it must not slow or fail the request. */
function noteUse(deps: Pick<Deps, 'db' | 'now' | 'log'>, id: string): void {
  deps.db
    .updateTable('dashboard_sessions')
    .set({ last_used_at: deps.now() })
    .where('dashboard_session_id', '=', id)
    .execute()
    .catch((error: unknown) => deps.log.debug({ err: error }, 'last use of a sign-in was not noted'))
}

/** A cookie travels with requests other sites make; those are told apart by where they come from. */
export function refuseForeignOrigin(
  publicUrl: string,
  request: {
    method: string
    origin: string | null
    secFetchSite: string | null
    host: string | null
  },
): void {
  const site = request.secFetchSite
  const sameSite = site === null || site === 'same-origin' || site === 'none'
  const sameOrigin = request.origin === null || isOriginOf(publicUrl, request.origin, request.host ?? '')
  const safe = request.method === 'GET' || request.method === 'HEAD'
  if (!sameSite || !sameOrigin || (!safe && request.origin === null && site === null))
    throw new ServiceError('forbidden', 'This request comes from another site, so the cookie is not accepted.')
}

/** Set-Cookie for a new dashboard session of `userId`. */
export async function startDashboardSession(
  deps: Pick<Deps, 'db' | 'now' | 'config' | 'randomBytes'>,
  userId: string,
  browser: { began_by: SignInWay; address: string | null; user_agent: string | null } = {
    began_by: 'link',
    address: null,
    user_agent: null,
  },
): Promise<string> {
  const value = base62(40, deps.randomBytes)
  const now = deps.now()
  const expires = new Date(now.getTime() + sessionDays * 86_400_000)
  await deps.db
    .deleteFrom('dashboard_sessions')
    .where('user_id', '=', userId)
    .where('expires_at', '<', now.toISOString())
    .execute()
  await deps.db
    .insertInto('dashboard_sessions')
    .values({
      sha256: sha256(value),
      user_id: userId,
      created_at: now,
      expires_at: expires,
      ...browser,
      confirmed_at: now,
      confirmed_by: browser.began_by,
    })
    .execute()
  return cookie(deps.config.publicUrl, value, sessionDays * 86_400)
}

/** The newest first. */
export async function listDashboardSessions(deps: Pick<Deps, 'db' | 'now'>, userId: string) {
  return deps.db
    .selectFrom('dashboard_sessions')
    .select(['dashboard_session_id', 'began_by', 'address', 'user_agent', 'created_at', 'last_used_at', 'expires_at'])
    .where('user_id', '=', userId)
    .where('expires_at', '>', deps.now().toISOString())
    .orderBy('created_at', 'desc')
    .limit(200)
    .execute()
}

/** Whether there was such a one of that user. */
export async function endDashboardSessionById(
  db: DbOrTransaction,
  input: { id: string; userId: string },
): Promise<boolean> {
  const ended = await db
    .deleteFrom('dashboard_sessions')
    .where('dashboard_session_id', '=', input.id)
    .where('user_id', '=', input.userId)
    .returning('user_id')
    .executeTakeFirst()
  return ended !== undefined
}

/** A new password signs every other browser out. */
export async function endOtherDashboardSessions(
  db: DbOrTransaction,
  input: { userId: string; keep: string },
): Promise<void> {
  await db
    .deleteFrom('dashboard_sessions')
    .where('user_id', '=', input.userId)
    .where('dashboard_session_id', '!=', input.keep)
    .execute()
}

/** Set-Cookie that ends the session the request carries, and whose it was. */
export async function endDashboardSession(
  deps: Pick<Deps, 'db' | 'config'>,
  header: string | null,
): Promise<{ cookie: string; userId: string | null }> {
  const value = header === null ? undefined : parse(header)[cookieName(deps.config.publicUrl)]
  const ended =
    value === undefined
      ? undefined
      : await deps.db
          .deleteFrom('dashboard_sessions')
          .where('sha256', '=', sha256(value))
          .returning('user_id')
          .executeTakeFirst()
  return { cookie: cookie(deps.config.publicUrl, '', 0), userId: ended?.user_id ?? null }
}

function cookie(publicUrl: string, value: string, maxAgeSeconds: number): string {
  const secure = publicUrl.startsWith('https:') ? '; Secure' : ''
  return `${cookieName(publicUrl)}=${value}; Path=/; HttpOnly; SameSite=Lax; Max-Age=${maxAgeSeconds}${secure}`
}
