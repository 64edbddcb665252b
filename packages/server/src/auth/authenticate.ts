import { sandboxKeyPrefix } from '@svc/contract'
import type { Deps } from '../deps.ts'
import type { Actor } from './actor.ts'
import { actorOfSandboxCredential, actorOfToken, unauthenticated } from './credentials.ts'
import { actorOfCookie } from './dashboard-session.ts'

export interface Credentials {
  authorization: string | null
  cookie: string | null
  method: string
  origin: string | null
  secFetchSite: string | null
  host: string | null
}

type AuthDeps = Pick<Deps, 'db' | 'now' | 'log' | 'config'>

/** Header or cookie to actor. Throws `unauthenticated`; never answers with nobody. */
export async function authenticate(deps: AuthDeps, credentials: Credentials): Promise<Actor> {
  if (credentials.authorization === null) return actorOfCookie(deps, credentials)
  const token = bearerToken(credentials.authorization)
  // The service key of a sandbox is another kind of credential: only the route that asks for it looks it up.
  if (token.startsWith(sandboxKeyPrefix))
    throw unauthenticated('The service key of a sandbox is not accepted here.', 'Use SVC_CLI_TOKEN.')
  return actorOfToken(deps, token)
}

export async function authenticateSandbox(deps: AuthDeps, credentials: Credentials): Promise<Actor> {
  if (credentials.authorization === null)
    throw unauthenticated('This route needs the service key of a sandbox.', 'Send `Authorization: Bearer $SVC_TOKEN`.')
  return actorOfSandboxCredential(deps, 'service', bearerToken(credentials.authorization))
}

export function bearerToken(authorization: string): string {
  const match = /^Bearer ([\x21-\x7e]{1,512})$/i.exec(authorization.trim())
  if (match === null)
    throw unauthenticated('The Authorization header is malformed.', 'Send `Authorization: Bearer <token>`.')
  return match[1]!
}
