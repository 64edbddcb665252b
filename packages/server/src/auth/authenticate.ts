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

/** Header or cookie to actor. Throws `unauthenticated`; never answers with nobody. */
export async function authenticate(deps: AuthDeps, credentials: Credentials): Promise<Actor> {
  if (credentials.authorization === null) return actorOfCookie(deps, credentials)
  return actorOfToken(deps, apiToken(credentials.authorization))
}

/** The same where something of a project is asked for: a token and that project are read in one question. */
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
  // The service key of a sandbox is another kind of credential: only the route that asks for it looks it up.
  if (token.startsWith(sandboxKeyPrefix))
    throw unauthenticated('The service key of a sandbox is not accepted here.', 'Use SVC_CLI_TOKEN.')
  return token
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
