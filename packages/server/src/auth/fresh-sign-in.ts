/** Account changes require a user who proved their identity within ten minutes, which a token cannot do. */
import { ServiceError } from '@svc/contract'
import type { Deps } from '../deps.ts'
import type { Actor, UserActor } from './actor.ts'

export const freshMinutes = 10

type Browser = NonNullable<UserActor['dashboard_session']>

export function isFresh(deps: Pick<Deps, 'now'>, { confirmed_at }: Browser): boolean {
  return confirmed_at !== null && Date.parse(confirmed_at) > deps.now().getTime() - freshMinutes * 60_000
}

/** `proof` means a password or single sign-on. A sign-in link suffices otherwise, but not to create another link: links could then be chained without end. */
export function requireFresh(deps: Pick<Deps, 'now'>, actor: UserActor, by: 'any sign-in' | 'proof'): Browser {
  const session = requireBrowser(actor)
  if (isFresh(deps, session) && (by === 'any sign-in' || session.confirmed_by !== 'link')) return session
  throw new ServiceError('confirmation_needed', 'Confirm your identity: your last sign-in was too long ago.', {
    hint: `Send your password to POST /v1/accounts/confirm, or sign in again with single sign-on${by === 'proof' ? '' : ' or with a link from `svc self-host owner-link`'}. A confirmation lasts ${freshMinutes} minutes.`,
  })
}

export function requireBrowser(actor: UserActor): Browser {
  if (actor.dashboard_session !== undefined) return actor.dashboard_session
  throw new ServiceError(
    'forbidden',
    'An API token cannot do this. It requires a user who is signed in to the dashboard.',
    {
      hint: 'Sign in to the dashboard. On the server, `svc self-host owner-link` creates a sign-in link.',
    },
  )
}

/** An expiring token must not create anything that outlasts it. */
export function refuseExpiringToken(actor: Actor, what: string): void {
  if (actor.kind !== 'user' || actor.token_id === null || actor.expires_at === null) return
  throw new ServiceError('forbidden', `This token expires at ${actor.expires_at}, and ${what} would outlast it.`, {
    hint: 'Do this in the dashboard.',
  })
}
