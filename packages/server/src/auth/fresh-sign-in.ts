/** Changes of an account ask for a person who proved within ten minutes who they are; a token is no person. */
import { ServiceError } from '@svc/contract'
import type { Deps } from '../deps.ts'
import type { Actor, UserActor } from './actor.ts'

export const freshMinutes = 10

type Browser = NonNullable<UserActor['dashboard_session']>

export function isFresh(deps: Pick<Deps, 'now'>, { confirmed_at }: Browser): boolean {
  return confirmed_at !== null && Date.parse(confirmed_at) > deps.now().getTime() - freshMinutes * 60_000
}

/**
 * `proof`: by password or single sign-on. A sign-in link is enough for the rest, but not for making another link: links
 * would follow from links without end.
 */
export function requireFresh(deps: Pick<Deps, 'now'>, actor: UserActor, by: 'any sign-in' | 'proof'): Browser {
  const session = requireBrowser(actor)
  if (isFresh(deps, session) && (by === 'any sign-in' || session.confirmed_by !== 'link')) return session
  throw new ServiceError('confirmation_needed', 'Confirm that it is you: your last sign-in is too long ago for this.', {
    hint: `Give your password by POST /v1/accounts/confirm, or sign in again by single sign-on. It counts for ${freshMinutes} minutes.`,
  })
}

export function requireBrowser(actor: UserActor): Browser {
  if (actor.dashboard_session !== undefined) return actor.dashboard_session
  throw new ServiceError('forbidden', 'An API token cannot do this: it takes a person who is signed in on the pages.', {
    hint: 'Sign in on the pages. On the machine of the server, `svc self-host owner-link` makes a link for that.',
  })
}

/** What lasts must not follow from a token that ends. */
export function refuseExpiringToken(actor: Actor, what: string): void {
  if (actor.kind !== 'user' || actor.token_id === null || actor.expires_at === null) return
  throw new ServiceError('forbidden', `This token ends at ${actor.expires_at}, and ${what} would outlast it.`, {
    hint: 'Do this on the pages.',
  })
}
