/** The dashboard's session cookie: it identifies the user, and the request must come from this server's pages. */
import { sql } from 'kysely'
import { base62, ServiceError, type SignInWay } from '@svc/contract'
import type { DbOrTransaction } from '../db/schema.ts'
import type { Deps } from '../deps.ts'
import type { UserActor } from './actor.ts'
import type { Credentials } from './authenticate.ts'
import { isOriginOf } from '../http/admission/own-origin.ts'
import { readCookie, setCookie } from '../http/cookies.ts'
import { sha256, unauthenticated } from './credentials.ts'
import { deleteRows, findRow, hasRow, insertRow, takeRow, updateRows } from '../db/rows.ts'

const sessionDays = 30

export async function actorOfCookie(
  deps: Pick<Deps, 'db' | 'now' | 'config' | 'log'>,
  request: Omit<Credentials, 'authorization'>,
): Promise<UserActor> {
  const value = readCookie(deps.config.publicUrl, 'session', request.cookie)
  if (value === undefined) throw unauthenticated('This needs a token.')
  refuseForeignOrigin(deps.config.publicUrl, request)
  const row = await sessionOfValue(deps, value)
  if (row === null)
    throw unauthenticated(
      'Your sign-in has ended.',
      'Sign in again. An owner can also create a link with `svc self-host owner-link`.',
    )
  if (row.last_used_at === null || Date.parse(row.last_used_at) < deps.now().getTime() - 60_000)
    recordUse(deps, row.dashboard_session_id)
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
  return findRow(deps.db, 'dashboard_sessions', { sha256: sha256(value), expires_at: sql`> ${deps.now()}` })
}

/** The signed-in user of a browser, for the provider's redirect, which has a cookie of its own as protection. */
export async function userOfCookie(deps: Pick<Deps, 'db' | 'now' | 'config'>, header: string | undefined) {
  const value = readCookie(deps.config.publicUrl, 'session', header)
  return value === undefined ? null : ((await sessionOfValue(deps, value))?.user_id ?? null)
}

/** Records that the user just entered their password. */
export async function confirmDashboardSession(db: DbOrTransaction, id: string, at: Date): Promise<void> {
  await updateRows(
    db,
    'dashboard_sessions',
    { dashboard_session_id: id },
    { confirmed_at: at, confirmed_by: 'password' },
  )
}

/** The time of last use is informational, so recording it must neither slow nor fail the request. */
function recordUse(deps: Pick<Deps, 'db' | 'now' | 'log'>, id: string): void {
  updateRows(deps.db, 'dashboard_sessions', { dashboard_session_id: id }, { last_used_at: deps.now() }).catch(
    (error: unknown) => deps.log.debug({ err: error }, 'last use of a dashboard session not recorded'),
  )
}

/** Browsers send cookies with requests from other sites too, so check where a request comes from. */
export function refuseForeignOrigin(publicUrl: string, request: Omit<Credentials, 'authorization' | 'cookie'>): void {
  const site = request.secFetchSite
  const isSameSite = site === null || site === 'same-origin' || site === 'none'
  const isSameOrigin = request.origin === null || isOriginOf(publicUrl, request.origin, request.host ?? '')
  const isSafe = request.method === 'GET' || request.method === 'HEAD'
  if (!isSameSite || !isSameOrigin || (!isSafe && request.origin === null && site === null))
    throw new ServiceError('forbidden', 'This request comes from another site, so the cookie is not accepted.')
}

/** Starts a dashboard session and returns its Set-Cookie header. */
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
  await deleteRows(deps.db, 'dashboard_sessions', { user_id: userId, expires_at: sql`< ${now}` })
  await insertRow(deps.db, 'dashboard_sessions', {
    sha256: sha256(value),
    user_id: userId,
    created_at: now,
    expires_at: expires,
    ...browser,
    confirmed_at: now,
    confirmed_by: browser.began_by,
  })
  return setCookie(deps.config.publicUrl, 'session', value, sessionDays * 86_400)
}

/** Newest first. */
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

/** False when the user has no such session. */
export async function endDashboardSessionById(db: DbOrTransaction, input: { id: string; userId: string }) {
  return (await deleteRows(db, 'dashboard_sessions', { dashboard_session_id: input.id, user_id: input.userId })) > 0
}

/** A new password signs out every other browser. */
export async function endOtherDashboardSessions(db: DbOrTransaction, input: { userId: string; keep: string }) {
  await deleteRows(db, 'dashboard_sessions', { user_id: input.userId, dashboard_session_id: sql`<> ${input.keep}` })
}

/** Ends the session of the request. Returns a Set-Cookie header that clears the cookie, and the user. */
export async function endDashboardSession(deps: Pick<Deps, 'db' | 'config'>, header: string | null) {
  const value = readCookie(deps.config.publicUrl, 'session', header)
  const ended = value === undefined ? null : await takeRow(deps.db, 'dashboard_sessions', { sha256: sha256(value) })
  return { cookie: setCookie(deps.config.publicUrl, 'session', '', 0), userId: ended?.user_id ?? null }
}

/** Whether any user has ever signed in with a browser and not signed out. */
export async function hasDashboardSessions(db: DbOrTransaction): Promise<boolean> {
  return hasRow(db.selectFrom('dashboard_sessions').select('user_id').limit(1))
}
