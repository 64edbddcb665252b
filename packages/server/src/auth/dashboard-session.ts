/** The dashboard's cookie: who it is, and that the request comes from our own page. */
import { parse } from 'hono/utils/cookie'
import { base62, ServiceError } from '@svc/contract'
import type { Deps } from '../deps.ts'
import type { UserActor } from './actor.ts'
import { sha256, unauthenticated } from './credentials.ts'

const sessionDays = 30

/** `__Host-` needs https, so a loopback http server uses the plain name. */
export function cookieName(publicUrl: string): string {
  return publicUrl.startsWith('https:') ? '__Host-svc_session' : 'svc_session'
}

export async function actorOfCookie(
  deps: Pick<Deps, 'db' | 'now' | 'config'>,
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
  refuseForeignOrigin(request)
  const row = await deps.db
    .selectFrom('dashboard_sessions')
    .select(['user_id', 'expires_at'])
    .where('sha256', '=', sha256(value))
    .where('expires_at', '>', deps.now().toISOString())
    .executeTakeFirst()
  if (row === undefined)
    throw unauthenticated('Your sign-in has ended.', 'Sign in again: `svc self-host owner-link` makes a new link.')
  return { kind: 'user', user_id: row.user_id, token_id: null, expires_at: row.expires_at }
}

/** A cookie travels with requests other sites make; those are told apart by where they come from. */
export function refuseForeignOrigin(request: {
  method: string
  origin: string | null
  secFetchSite: string | null
  host: string | null
}): void {
  const site = request.secFetchSite
  const sameSite = site === null || site === 'same-origin' || site === 'none'
  const sameOrigin =
    request.origin === null || (URL.canParse(request.origin) && new URL(request.origin).host === request.host)
  const safe = request.method === 'GET' || request.method === 'HEAD'
  if (!sameSite || !sameOrigin || (!safe && request.origin === null && site === null))
    throw new ServiceError('forbidden', 'This request comes from another site, so the cookie is not accepted.')
}

/** Set-Cookie for a new dashboard session of `userId`. */
export async function startDashboardSession(
  deps: Pick<Deps, 'db' | 'now' | 'config' | 'randomBytes'>,
  userId: string,
): Promise<string> {
  const value = base62(40, deps.randomBytes)
  const expires = new Date(deps.now().getTime() + sessionDays * 86_400_000)
  await deps.db
    .insertInto('dashboard_sessions')
    .values({ sha256: sha256(value), user_id: userId, expires_at: expires })
    .execute()
  return cookie(deps.config.publicUrl, value, sessionDays * 86_400)
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
