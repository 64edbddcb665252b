/** `sandbox_url`: the daemon of a sandbox, seen through this server. Health without a token; everything else for who may write the project, and for an agent in its own session and those it started. */
import { ServiceError } from '@svc/contract'
import { boundSession } from '../auth/actor.ts'
import { allow, isUuid, notFound } from '../auth/allow.ts'
import { authenticate, type Credentials } from '../auth/authenticate.ts'
import type { Deps } from '../deps.ts'
import type { App } from '../http/mount.ts'
import { replyError } from '../http/reply-error.ts'
import { type AppContext, credentialsOf } from '../http/request-info.ts'
import { askRuntime, type DaemonAddress, readHealth } from './daemon-client.ts'
import { responseWhileAdmitted } from '../http/while-admitted.ts'
import { answerHeaders, requestHeaders } from './passed-headers.ts'
import { getSandbox, getSessionById } from './store.ts'

export function sandboxEdgeRoutes(app: App, deps: Deps): void {
  app.all('/v1/sandboxes/:sandboxId/*', async (c) => {
    try {
      return await forward(deps, c)
    } catch (error) {
      return replyError(error, { id: c.get('requestId'), method: c.req.method, path: c.req.path }, deps)
    }
  })
}

async function forward(deps: Deps, c: AppContext): Promise<Response> {
  const sandboxId = c.req.param('sandboxId') ?? ''
  const url = new URL(c.req.url)
  const judge = () => admit(deps, { sandboxId, url, method: c.req.method, credentials: credentialsOf(c.req.raw) })
  const admitted = await judge()
  if (admitted.kind === 'health') return health(admitted.endpoint)
  refuseNavigation(c.req.raw.headers)
  const { daemon, path, userId, role } = admitted
  const upstream = await askRuntime(daemon, {
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
    // It is a stranger's content on our origin: nothing of it may run as a page of ours.
    headers: {
      ...passed(upstream.headers, answerHeaders),
      'x-request-id': c.get('requestId'),
      'content-security-policy': 'sandbox',
      'x-content-type-options': 'nosniff',
    },
  })
  return responseWhileAdmitted(deps, answer, judge)
}

/** On the dashboard's own origin a page of an agent could pass for a page of the service, even without scripts. */
function refuseNavigation(headers: Headers): void {
  if (headers.get('sec-fetch-mode') !== 'navigate') return
  throw new ServiceError('forbidden', 'A browser does not open a sandbox on this address as a page.', {
    hint: 'Open the port as a preview: svc sessions preview <id> <port>',
  })
}

export type Admitted =
  | { kind: 'health'; endpoint: string | null }
  | { kind: 'in'; daemon: DaemonAddress; path: string; userId: string; role: string }

/** Who may reach which daemon, and what for: the same question for a request and for an upgrade. Throws what refuses. */
export async function admit(
  deps: Deps,
  { sandboxId, url, method, credentials }: { sandboxId: string; url: URL; method: string; credentials: Credentials },
): Promise<Admitted> {
  const sandbox = isUuid(sandboxId) ? await getSandbox(deps.db, sandboxId) : null
  const prefix = `/v1/sandboxes/${sandboxId}`
  const path = url.pathname.slice(prefix.length)
  const isHealth = path === '/svc/health' && method === 'GET'
  const actor = isHealth ? null : await authenticate(deps, credentials)
  const session = sandbox === null ? null : await getSessionById(deps.db, sandbox.session_id)
  if (sandbox === null || session === null) throw notFound('sandbox')
  const project =
    actor === null
      ? null
      : (
          await allow(deps, {
            access: 'project-write',
            actor,
            projectId: session.project_id,
            sessionId: session.session_id,
          })
        ).project
  if (actor?.kind === 'project' && actor.project_id !== session.project_id)
    throw new ServiceError('forbidden', 'This token belongs to another project.')
  if (sandbox.status !== 'active' && sandbox.status !== 'provisioning')
    throw new ServiceError('unavailable', `This sandbox is ${sandbox.status}.`, {
      hint: 'Restart the session; its sandbox then has a new address.',
    })
  // The address as it was sent, and not as the router decoded it: what is judged below is what goes on.
  if (!url.pathname.startsWith(`${prefix}/`)) throw new ServiceError('not_found', 'There is no such route.')
  if (isHealth) return { kind: 'health', endpoint: sandbox.endpoint }
  const daemon = deps.keeper.daemonOf(session.session_id)
  if (daemon === null || actor === null || project === null || daemon.generation !== sandbox.generation)
    throw new ServiceError('runtime_booting', 'The sandbox is still starting.')
  // Slashes in a row too: a client on the way joins them.
  if (/^\/+svc(\/|$)/i.test(path))
    throw new ServiceError('forbidden', 'The control paths of a sandbox belong to the service.', {
      hint: 'Use the session routes of the API.',
    })
  if (boundSession(actor) !== null) refuseAnswers(method, path)
  return { kind: 'in', daemon, path: path + url.search, userId: actor.user_id, role: project.role }
}

/** Where the runtime takes answers to what agents ask: people give those, as in `questions/answer.ts`. */
function refuseAnswers(method: string, path: string): void {
  if (method === 'GET' || method === 'HEAD' || /^\/+proxy\//.test(path)) return
  // Each `%` form of a letter reaches the runtime's router too.
  const plain = path.replaceAll(/%([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
  if (/\/(permissions?|questions?)(\/|$)/i.test(plain))
    throw new ServiceError('forbidden', 'An agent does not answer the questions of agents.', {
      hint: 'A person answers them: `svc sessions questions`.',
    })
}

async function health(endpoint: string | null): Promise<Response> {
  if (endpoint === null) throw new ServiceError('runtime_booting', 'The sandbox is still starting.')
  const outcome = await readHealth(endpoint)
  if (outcome.kind !== 'ok')
    throw new ServiceError('unavailable', 'The daemon of this sandbox does not answer.', {
      hint: 'Try again in a moment.',
    })
  return Response.json(outcome.value, { headers: { 'cache-control': 'no-store' } })
}

/** Its length is for whoever writes the body again, and a cookie of a program would be one of our own origin. */
function passed(headers: Headers, onward: (rawHeaders: string[]) => string[]): Record<string, string> {
  const kept = new Headers()
  const raw = onward([...headers].flat())
  for (let i = 0; i + 1 < raw.length; i += 2) kept.append(raw[i]!, raw[i + 1]!)
  kept.delete('content-length')
  kept.delete('set-cookie')
  // A browser would ask for a password in our name.
  kept.delete('www-authenticate')
  return Object.fromEntries(kept)
}
