/** Sign-in with an OpenID Connect provider: one route redirects to it, the other handles its redirect back. */
import { AuthorizationResponseError } from 'openid-client'
import { refuseForeignOrigin, startDashboardSession, userOfCookie } from '../../auth/dashboard-session.ts'
import type { Deps } from '../../deps.ts'
import { readCookie, setCookie } from '../../http/cookies.ts'
import type { App } from '../../http/mount.ts'
import { requestInfo } from '../../http/mount.ts'
import { credentialsOf } from '../../http/request-info.ts'
import { browserOf, pageCaller } from '../sign-in/browser.ts'
import { trustDevice } from '../sign-in/trusted-devices.ts'
import { recordSignIn, type Unknown, userOfPerson } from './identities.ts'
import { type Journey, OidcProvider } from './provider.ts'

/** The reason for returning to the sign-in page, which has a message for each. */
type Problem = Unknown | 'expired' | 'refused' | 'away' | 'failed'

const journeyMinutes = 10

export function oidcRoutes(app: App, deps: Deps): void {
  const { oidc } = deps.config
  if (oidc === null) return
  // Read for each request: a server on a random port learns its URL after the start.
  const provider = new OidcProvider(oidc, () => `${deps.config.publicUrl}/sign-in/oidc/callback`)

  app.get('/sign-in/oidc', async (c) => {
    // Otherwise another site could sign a user in at any time.
    refuseForeignOrigin(deps.config.publicUrl, credentialsOf(c.req.raw))
    try {
      const { url, journey } = await provider.begin(ownPath(c.req.query('next')))
      return go(url.href, [journeyCookie(deps, journey)])
    } catch (error) {
      deps.log.warn({ err: error, issuer: oidc.issuer }, 'sign-in provider unavailable')
      return back('away')
    }
  })

  app.get('/sign-in/oidc/callback', async (c) => {
    const journey = readJourney(deps, c.req.header('cookie'))
    if (journey === null) return back('expired')
    const request = requestInfo(deps, c)
    const clearCookie = journeyCookie(deps, null)
    try {
      const person = await provider.finish(new URL(c.req.url).search, journey)
      const signedInAs = await userOfCookie(deps, c.req.header('cookie'))
      const signedIn = await deps.db.transaction().execute(async (trx) => {
        const found = await userOfPerson(deps, trx, person, signedInAs)
        if (typeof found === 'string') return { problem: found }
        await recordSignIn(trx, pageCaller(found.user_id, request), person)
        const on = { ...deps, db: trx }
        const session = await startDashboardSession(on, found.user_id, browserOf(request, 'oidc'))
        const device = await trustDevice(on, found.user_id, c.req.header('cookie') ?? null)
        // A user without an account can only see their invitations.
        return { cookies: [session, device], next: found.isMember ? journey.next : '/invitations' }
      })
      if (signedIn.problem === undefined) return go(signedIn.next, [clearCookie, ...signedIn.cookies])
      deps.log.info({ issuer: person.issuer, problem: signedIn.problem }, 'sign-in refused')
      return back(signedIn.problem, clearCookie)
    } catch (error) {
      if (error instanceof AuthorizationResponseError) {
        deps.log.info({ issuer: oidc.issuer, error: error.error }, 'sign-in refused by the provider')
        return back('refused', clearCookie)
      }
      deps.log.warn({ err: error, issuer: oidc.issuer }, 'sign-in failed')
      return back('failed', clearCookie)
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

/** Accepts only a path of this server that no browser reads as another host. */
function ownPath(path: string | undefined): string {
  return path !== undefined && /^\/(?![/\\])[\x21-\x7e]{0,1000}$/.test(path) && !path.includes('\\') ? path : '/'
}

/** Lax, because the redirect comes from the provider's site. */
function journeyCookie(deps: Pick<Deps, 'config'>, journey: Journey | null): string {
  const value = journey === null ? '' : Buffer.from(JSON.stringify(journey)).toString('base64url')
  const age = journey === null ? 0 : journeyMinutes * 60
  return setCookie(deps.config.publicUrl, 'oidc', value, age)
}

function readJourney(deps: Pick<Deps, 'config'>, header: string | undefined): Journey | null {
  const value = readCookie(deps.config.publicUrl, 'oidc', header)
  if (!value) return null
  try {
    const read = JSON.parse(Buffer.from(value, 'base64url').toString('utf8')) as Partial<Record<keyof Journey, unknown>>
    const { state, nonce, verifier, next } = read
    if (typeof state !== 'string' || typeof nonce !== 'string' || typeof verifier !== 'string') return null
    return { state, nonce, verifier, next: ownPath(typeof next === 'string' ? next : undefined) }
  } catch {
    // A malformed cookie counts as none.
    return null
  }
}
