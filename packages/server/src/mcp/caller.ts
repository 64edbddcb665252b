import { mcpProjectHeader, ServiceError } from '@svc/contract'
import type { Caller, ProjectActor, UserActor } from '../auth/actor.ts'
import { allow, type AuthorizedProject } from '../auth/allow.ts'
import { authenticate, bearerToken } from '../auth/authenticate.ts'
import { projectOfWarmToken, unauthenticated } from '../auth/credentials.ts'
import type { Deps } from '../deps.ts'
import { credentialsOf, type RequestInfo } from '../http/request-info.ts'
import { getProject } from '../projects/store.ts'

/** `caller` is null for a warm sandbox, which may list tools but not call them. */
export type ToolCaller = {
  project: Pick<AuthorizedProject, 'project_id'>
  caller: (Caller<UserActor | ProjectActor> & { project: AuthorizedProject }) | null
}

export async function identifyCaller(deps: Deps, request: RequestInfo, raw: Request): Promise<ToolCaller> {
  const credentials = credentialsOf(raw)
  // Cookies are not accepted: a browser sends them without a decision of the user.
  if (credentials.authorization === null)
    throw unauthenticated('The MCP gateway needs a token.', 'Send `Authorization: Bearer $SVC_EXECUTOR_TOKEN`.')
  const waiting = await projectOfWarmToken(deps, bearerToken(credentials.authorization))
  if (waiting !== null) {
    const project = await getProject(deps.db, waiting)
    if (project !== null) return { project, caller: null }
  }
  const actor = await authenticate(deps, credentials)
  if (actor.kind !== 'user' && actor.kind !== 'project')
    throw unauthenticated('The MCP gateway needs a project token or a user token.')
  const projectId = raw.headers.get(mcpProjectHeader) ?? (actor.kind === 'project' ? actor.project_id : null)
  if (projectId === null)
    throw new ServiceError('invalid', 'A user token belongs to no project, and the request names none.', {
      hint: `Send \`${mcpProjectHeader}: <project id>\`.`,
      detail: { issues: [{ path: mcpProjectHeader, message: 'is missing' }] },
    })
  const { project } = await allow(deps, { access: 'project-write', actor, projectId, sessionId: null })
  if (project === null) throw unauthenticated('This token has no project.')
  return { project, caller: { actor, requestId: request.id, address: request.address, project } }
}
