/** `sandbox_url`: a proxy to the daemon of a sandbox. Health needs no token. Anything else needs write access to the project, and an agent may reach only its own session and those it started. */
import { type DaemonHealth, ServiceError } from '@svc/contract'
import { type Actor, boundSession } from '../../auth/actor.ts'
import { allow, isUuid, notFound } from '../../auth/allow.ts'
import { authenticate, type Credentials } from '../../auth/authenticate.ts'
import { projectOfUser, type SeenProject } from '../../auth/token-store.ts'
import type { Deps } from '../../deps.ts'
import type { App } from '../../http/mount.ts'
import { replyError } from '../../http/reply-error.ts'
import { type AppContext, credentialsOf } from '../../http/request-info.ts'
import { apiUrlInSandbox } from '../lifecycle/boot-environment.ts'
import { requestRuntime, type DaemonAddress, readHealth } from '../../sandboxes/daemon-client.ts'
import { responseWhileAdmitted } from '../../http/admission/while-admitted.ts'
import { answerHeaders, requestHeaders } from '../../sandboxes/passed-headers.ts'
import { getSessionById, getSessionBySandbox, liveStatuses, type SessionWithSandbox } from '../store.ts'
import { getSandbox, type SandboxRow } from '../../sandboxes/store.ts'

export function sandboxEdgeRoutes(app: App, deps: Deps): void {
  for (const root of edgeRoots)
    app.all(`${root}/:id/*`, async (c) => {
      try {
        return await forward(deps, c, root)
      } catch (error) {
        return replyError(error, { id: c.get('requestId'), method: c.req.method, path: c.req.path }, deps)
      }
    })
}

/** The first is the root of `sandbox_url`. The second also accepts the id of a session, which survives restarts. */
const edgeRoots = ['/v1/sandboxes', '/v1/p'] as const
export type EdgeRoot = (typeof edgeRoots)[number]

async function forward(deps: Deps, c: AppContext, root: EdgeRoot): Promise<Response> {
  const id = c.req.param('id') ?? ''
  const url = new URL(c.req.url)
  const judge = () => admit(deps, { root, id, url, method: c.req.method, credentials: credentialsOf(c.req.raw) })
  const admitted = await judge()
  if (admitted.kind === 'health') return health(admitted)
  refuseNavigation(c.req.raw.headers)
  const { daemon, path, userId, role } = admitted
  const upstream = await requestRuntime(daemon, {
    method: c.req.method,
    path,
    userId,
    role,
    headers: passed(c.req.raw.headers, (raw) => requestHeaders(raw, 'for us')),
    body: c.req.raw.body,
    signal: c.req.raw.signal,
  })
  const answer = new Response(upstream.body, {
    status: upstream.status,
    // Untrusted content on the origin of the service must not run as one of its pages.
    headers: {
      ...passed(upstream.headers, answerHeaders),
      'x-request-id': c.get('requestId'),
      'content-security-policy': 'sandbox',
      'x-content-type-options': 'nosniff',
    },
  })
  return responseWhileAdmitted(deps, answer, judge)
}

/** On the origin of the dashboard, a page of an agent could imitate the service even without scripts. */
function refuseNavigation(headers: Headers): void {
  if (headers.get('sec-fetch-mode') !== 'navigate') return
  throw new ServiceError('forbidden', 'A browser cannot open a sandbox as a page at this address.', {
    hint: 'Open the port as a preview: svc sessions preview <id> <port>',
  })
}

interface Target {
  root: EdgeRoot
  id: string
  url: URL
  method: string
  credentials: Credentials
}

export type Admitted =
  | { kind: 'health'; session: SessionWithSandbox; endpoint: string | null }
  | { kind: 'in'; daemon: DaemonAddress; path: string; userId: string; role: string }

/** Authorizes a request or an upgrade and finds its daemon. Throws when it is refused. */
export async function admit(deps: Deps, { root, id, url, method, credentials }: Target): Promise<Admitted> {
  const made = isUuid(id) ? await getSandbox(deps.db, id) : null
  const named = !isUuid(id)
    ? null
    : made === null
      ? await getSessionBySandbox(deps.db, id)
      : await getSessionById(deps.db, made.session_id)
  const prefix = `${root}/${id}`
  const path = url.pathname.slice(prefix.length)
  const isHealth = path === '/svc/health' && method === 'GET'
  // The id of a session is also the name of a branch that others may read, so it needs a token.
  const isOpen = isHealth && (named !== null || root === '/v1/sandboxes')
  const actor = isOpen ? null : await authenticate(deps, credentials)
  const session = named ?? (root === '/v1/p' && isUuid(id) ? await getSessionById(deps.db, id) : null)
  if (session === null) throw notFound('sandbox')
  const read = named === null ? { project: await projectOfMember(deps, actor, session) } : null
  const sandbox =
    made ?? (session.sandbox && (await getSandbox(deps.db, session.sandbox.sandbox_id))) ?? notMadeYet(session)
  const project =
    actor === null
      ? null
      : (
          await allow(deps, {
            access: 'project-write',
            actor,
            projectId: session.project_id,
            sessionId: session.session_id,
            read,
          })
        ).project
  if (actor?.kind === 'project' && actor.project_id !== session.project_id)
    throw new ServiceError('forbidden', 'This token belongs to another project.')
  if (sandbox.status !== 'active' && sandbox.status !== 'provisioning')
    throw new ServiceError('unavailable', `This sandbox is ${sandbox.status}.`, {
      hint: 'Restart the session; its sandbox then has a new address.',
    })
  // Checks the path as sent, not as the router decoded it, because the path as sent is forwarded.
  if (!url.pathname.startsWith(`${prefix}/`)) throw new ServiceError('not_found', 'There is no such route.')
  if (isHealth) return { kind: 'health', session, endpoint: sandbox.endpoint }
  const daemon = deps.sessions.daemonOf(session.session_id)
  if (daemon === null || actor === null || project === null || daemon.generation !== sandbox.generation)
    throw new ServiceError('runtime_booting', 'The sandbox is still starting.')
  // Includes repeated slashes, which a proxy may join.
  if (/^\/+svc(\/|$)/i.test(path))
    throw new ServiceError('forbidden', 'The control API of a sandbox is reserved for the service.', {
      hint: 'Use the session routes of the API.',
    })
  if (boundSession(actor) !== null) refuseAnswers(method, path)
  return { kind: 'in', daemon, path: path + url.search, userId: actor.user_id, role: project.role }
}

/** The project, for a caller who may see the session. For anyone else the sandbox does not exist. */
async function projectOfMember(
  deps: Pick<Deps, 'db'>,
  actor: Actor | null,
  { project_id: projectId }: SessionWithSandbox,
): Promise<SeenProject> {
  const isReached = actor !== null && (actor.kind === 'user' || actor.project_id === projectId)
  const project = isReached ? await projectOfUser(deps.db, projectId, actor.user_id) : undefined
  if (project === undefined || project.role === null) throw notFound('sandbox')
  return project
}

/** Refuses the routes of the runtime that answer questions, which only people do, as in `questions/answer.ts`. */
function refuseAnswers(method: string, path: string): void {
  if (method === 'GET' || method === 'HEAD' || /^\/+proxy\//.test(path)) return
  // The router of the runtime also decodes escaped letters.
  const plain = path.replaceAll(/%([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
  if (/\/(permissions?|questions?)(\/|$)/i.test(plain))
    throw new ServiceError('forbidden', 'An agent cannot answer the questions of agents.', {
      hint: 'A person answers them: `svc sessions questions`.',
    })
}

/** The id of a sandbox is known before the sandbox exists. It is stopped when the session ended meanwhile. */
function notMadeYet({
  status,
  generation,
}: SessionWithSandbox): Pick<SandboxRow, 'status' | 'generation' | 'endpoint'> {
  return { status: liveStatuses.includes(status) ? 'provisioning' : 'stopped', generation, endpoint: null }
}

async function health({ session, endpoint }: Extract<Admitted, { kind: 'health' }>): Promise<Response> {
  if (endpoint === null) return Response.json(healthBeforeDaemon(session), { headers: uncached })
  const outcome = await readHealth(endpoint)
  if (outcome.kind !== 'ok')
    throw new ServiceError('unavailable', 'The daemon of this sandbox does not answer.', {
      hint: 'Try again in a moment.',
    })
  return Response.json(outcome.value, { headers: uncached })
}

const uncached = { 'cache-control': 'no-store' }

function healthBeforeDaemon(session: SessionWithSandbox): Omit<DaemonHealth, 'daemon'> & { daemon: 'starting' } {
  return {
    daemon: 'starting',
    status: 'booting',
    runtime: 'starting',
    repository: `${apiUrlInSandbox}/projects/${session.project_id}/git`,
    branch: session.branch_name,
    commit: null,
    generation: session.generation,
    uptime_ms: 0,
    boot: [],
    runtime_session_id: null,
    error: null,
    runtime_starts: 0,
    runtime_asleep_ms: null,
  }
}

/** Removes the length, which the response sets itself, and cookies, which would belong to the origin of the service. */
function passed(headers: Headers, onward: (rawHeaders: string[]) => string[]): Record<string, string> {
  const passed = new Headers()
  const raw = onward([...headers].flat())
  for (let i = 0; i + 1 < raw.length; i += 2) passed.append(raw[i]!, raw[i + 1]!)
  passed.delete('content-length')
  passed.delete('set-cookie')
  // A browser would show a password prompt of the service.
  passed.delete('www-authenticate')
  return Object.fromEntries(passed)
}
