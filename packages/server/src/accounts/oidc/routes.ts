/** Signing in at an OpenID Connect provider: a link leaves for it, and its redirect comes back with who it was. */
import { parse } from 'hono/utils/cookie'
import { AuthorizationResponseError } from 'openid-client'
import { refuseForeignOrigin, startDashboardSession, userOfCookie } from '../../auth/dashboard-session.ts'
import type { Deps } from '../../deps.ts'
import type { App } from '../../http/mount.ts'
import { type AppContext, clientAddress, credentialsOf } from '../../http/request-info.ts'
import { trustDevice } from '../trusted-devices.ts'
import { recordSignIn, type Unknown, userOfPerson } from './identities.ts'
import { type Journey, OidcProvider } from './provider.ts'

/** Why somebody is back at the sign-in page: the page has the words. */
type Problem = Unknown | 'expired' | 'refused' | 'away' | 'failed'

const journeyMinutes = 10

export function oidcRoutes(app: App, deps: Deps): void {
  const { oidc } = deps.config
  if (oidc === null) return
  // Read at each request: a server on a port the kernel chose learns its address late.
  const provider = new OidcProvider(oidc, () => `${deps.config.publicUrl}/sign-in/oidc/callback`)

  app.get('/sign-in/oidc', async (c) => {
    // A page elsewhere that could begin this would sign people in whenever it likes.
    refuseForeignOrigin(deps.config.publicUrl, credentialsOf(c.req.raw))
    try {
      const { url, journey } = await provider.begin(ownPath(c.req.query('next')))
      return go(url.href, [journeyCookie(deps, journey)])
    } catch (error) {
      deps.log.warn({ err: error, issuer: oidc.issuer }, 'the sign-in provider does not answer')
      return back('away')
    }
  })

  app.get('/sign-in/oidc/callback', async (c) => {
    const journey = readJourney(deps, c.req.header('cookie'))
    if (journey === null) return back('expired')
    const gone = journeyCookie(deps, null)
    try {
      const person = await provider.finish(new URL(c.req.url).search, journey)
      const signedInAs = await userOfCookie(deps, c.req.header('cookie'))
      const signedIn = await deps.db.transaction().execute(async (trx) => {
        const found = await userOfPerson(deps, trx, person, signedInAs)
        if (typeof found === 'string') return { problem: found }
        await recordSignIn(trx, pageCaller(c, found.user_id), person)
        const on = { ...deps, db: trx }
        const session = await startDashboardSession(on, found.user_id, browserOf(c))
        const device = await trustDevice(on, found.user_id, c.req.header('cookie') ?? null)
        // A user of no account has one page: their invitations.
        return { cookies: [session, device], next: found.isMember ? journey.next : '/invitations' }
      })
      if (signedIn.problem === undefined) return go(signedIn.next, [gone, ...signedIn.cookies])
      deps.log.info({ issuer: person.issuer, problem: signedIn.problem }, 'a sign-in was refused')
      return back(signedIn.problem, gone)
    } catch (error) {
      if (error instanceof AuthorizationResponseError) {
        deps.log.info({ issuer: oidc.issuer, error: error.error }, 'the provider refused a sign-in')
        return back('refused', gone)
      }
      deps.log.warn({ err: error, issuer: oidc.issuer }, 'a sign-in failed')
      return back('failed', gone)
    }
  })
}

function go(location: string, cookies: string[]): Response {
  const headers = new Headers({ location, 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' })
  for (const cookie of cookies) headers.append('set-cookie', cookie)
  return new Response(null, { status: 302, headers })
}

function back(problem: Problem, ...cookies: string[]): Response {
  return go(`/sign-in?problem=${problem}`, cookies)
}

/** A path of ours and nothing that a browser takes for another server. */
function ownPath(path: string | undefined): string {
  return path !== undefined && /^\/(?![/\\])[\x21-\x7e]{0,1000}$/.test(path) && !path.includes('\\') ? path : '/'
}

function journeyName(deps: Pick<Deps, 'config'>): string {
  return deps.config.publicUrl.startsWith('https:') ? '__Host-svc_oidc' : 'svc_oidc'
}

/** Lax, because the provider's redirect comes from another site. */
function journeyCookie(deps: Pick<Deps, 'config'>, journey: Journey | null): string {
  const secure = deps.config.publicUrl.startsWith('https:') ? '; Secure' : ''
  const value = journey === null ? '' : Buffer.from(JSON.stringify(journey)).toString('base64url')
  const age = journey === null ? 0 : journeyMinutes * 60
  return `${journeyName(deps)}=${value}; Path=/; HttpOnly; SameSite=Lax; Max-Age=${age}${secure}`
}

function readJourney(deps: Pick<Deps, 'config'>, header: string | undefined): Journey | null {
  const value = header === undefined ? undefined : parse(header)[journeyName(deps)]
  if (!value) return null
  try {
    const read = JSON.parse(Buffer.from(value, 'base64url').toString('utf8')) as Partial<Record<keyof Journey, unknown>>
    const { state, nonce, verifier, next } = read
    if (typeof state !== 'string' || typeof nonce !== 'string' || typeof verifier !== 'string') return null
    return { state, nonce, verifier, next: ownPath(typeof next === 'string' ? next : undefined) }
  } catch {
    // Somebody's own cookie, changed by hand: the same as none.
    return null
  }
}

function pageCaller(c: AppContext, userId: string) {
  const actor = { kind: 'user', user_id: userId, token_id: null, expires_at: null } as const
  return { actor, requestId: c.get('requestId'), address: clientAddress(c) }
}

function browserOf(c: AppContext) {
  return {
    began_by: 'oidc' as const,
    address: clientAddress(c),
    user_agent: c.req.header('user-agent')?.slice(0, 300) ?? null,
  }
}
