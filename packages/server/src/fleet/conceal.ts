/**
 * That the home of a project does not answer shows that there is such a project. Callers who may not read it get the
 * answer for a project that does not exist, from the routes of this server.
 */
import type { IncomingMessage } from 'node:http'
import { mcpProjectHeader, ServiceError } from '@svc/contract'
import { allow } from '../auth/allow.ts'
import { authenticate, type Credentials } from '../auth/authenticate.ts'
import { sha256 } from '../auth/credentials.ts'
import type { Deps } from '../deps.ts'
import { inPath, type Located, routedPath } from './locate.ts'
import { projectOfCredential } from './store.ts'

/** Deliveries, whose signature covers a body that is not read yet. Their senders repeat them after this server's 503. */
const deliveries = /^\/v1\/(?:channels\/slack\/|projects\/[^/]+\/(?:host-webhook|triggers\/[^/]+\/webhook)(?:[?#]|$))/

/** Whether the answer must not show that this project exists. Other locations are not guessed: an id, or a credential. */
export async function isHidden(
  deps: Deps,
  { url }: IncomingMessage,
  { located, projectId, caller }: { located: Located; projectId: string | null; caller: Credentials },
): Promise<boolean> {
  if (located.kind !== 'slug' && located.kind !== 'project') return false
  if (projectId === null || (located.kind === 'project' && deliveries.test(routedPath(url)))) return false
  for (const token of tokensOf(caller.authorization)) if (await mayRead(deps, token, projectId, caller)) return false
  return true
}

async function mayRead(deps: Deps, token: string | null, projectId: string, caller: Credentials): Promise<boolean> {
  if (token !== null && (await projectOfCredential(deps.db, sha256(token))) === projectId) return true
  try {
    const actor = await authenticate(deps, { ...caller, authorization: token === null ? null : `Bearer ${token}` })
    await allow(deps, { access: 'project-read', actor, projectId, sessionId: null, deleted: 'too' })
    return true
  } catch (error) {
    if (error instanceof ServiceError) return false
    throw error
  }
}

/** git sends Basic, with the token as password or as user name. Null: without a token, perhaps with a cookie. */
function tokensOf(authorization: string | null): (string | null)[] {
  if (authorization === null) return [null]
  const [, scheme = '', value = ''] = /^(Bearer|Basic) (\S{1,2048})$/i.exec(authorization.trim()) ?? []
  if (scheme.toLowerCase() !== 'basic') return value === '' ? [] : [value]
  return Buffer.from(value, 'base64')
    .toString('utf8')
    .split(':')
    .filter((part) => part !== '')
}

/** The request names a project that does not exist from here on, so no route can serve the one that it named. */
export function conceal(request: IncomingMessage, located: Located, newId: () => string): void {
  const nothing = located.kind === 'slug' ? `x${newId().replaceAll('-', '')}` : newId()
  const url = routedPath(request.url)
  const [start, named] = inPath.project.exec(url) ?? []
  if (start !== undefined && named !== undefined) {
    request.url = start.slice(0, -named.length) + nothing + url.slice(start.length)
    return
  }
  request.headers[mcpProjectHeader] = nothing
  request.rawHeaders.forEach((name, at) => {
    if (at % 2 === 0 && name.toLowerCase() === mcpProjectHeader) request.rawHeaders[at + 1] = nothing
  })
}
