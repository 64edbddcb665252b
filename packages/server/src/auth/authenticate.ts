import { sandboxKeyPrefix } from '@svc/contract'
import type { Deps } from '../deps.ts'
import type { Actor } from './actor.ts'
import { isUuid } from './allow.ts'
import { actorOfSandboxCredential, actorOfToken, actorOfTokenOn, unauthenticated } from './credentials.ts'
import { actorOfCookie } from './dashboard-session.ts'
import type { Found } from './token-store.ts'

export interface Credentials {
  authorization: string | null
  cookie: string | null
  method: string
  origin: string | null
  secFetchSite: string | null
  host: string | null
}

type AuthDeps = Pick<Deps, 'db' | 'now' | 'log' | 'config'>

/** Resolves a header or cookie to an actor. Throws `unauthenticated` otherwise. */
export async function authenticate(deps: AuthDeps, credentials: Credentials): Promise<Actor> {
  if (credentials.authorization === null) return actorOfCookie(deps, credentials)
  return actorOfToken(deps, apiToken(credentials.authorization))
}

/** Also reads the project of the request, in the same query as the token. */
export async function authenticateOn(
  deps: AuthDeps,
  credentials: Credentials,
  projectId: string | undefined,
): Promise<{ actor: Actor; read: Found | null }> {
  const { authorization } = credentials
  if (authorization === null || projectId === undefined || !isUuid(projectId))
    return { actor: await authenticate(deps, credentials), read: null }
  const { actor, project } = await actorOfTokenOn(deps, apiToken(authorization), projectId)
  return { actor, read: { project } }
}

function apiToken(authorization: string): string {
  const token = bearerToken(authorization)
  // A sandbox's service key is looked up only by the routes that require it.
  if (token.startsWith(sandboxKeyPrefix))
    throw unauthenticated('The service key of a sandbox is not accepted here.', 'Use SVC_CLI_TOKEN.')
  return token
}

export async function authenticateSandbox(deps: AuthDeps, credentials: Credentials): Promise<Actor> {
  if (credentials.authorization === null)
    throw unauthenticated(
      'This route requires the service key of a sandbox.',
      'Send `Authorization: Bearer $SVC_TOKEN`.',
    )
  return actorOfSandboxCredential(deps, 'service', bearerToken(credentials.authorization))
}

export function bearerToken(authorization: string): string {
  const match = /^Bearer ([\x21-\x7e]{1,512})$/i.exec(authorization.trim())
  if (match === null)
    throw unauthenticated('The Authorization header is malformed.', 'Send `Authorization: Bearer <token>`.')
  return match[1]!
}
