import { type Access, type Route, ServiceError } from '@svc/contract'
import type { Hono } from 'hono'
import type { z } from 'zod'
import {
  type Actor,
  type Caller,
  mayWrite,
  type ProjectActor,
  type SandboxActor,
  type UserActor,
} from '../auth/actor.ts'
import {
  allow,
  type Allowed,
  type AuthorizedAccount,
  type AuthorizedProject,
  isUuid,
  refuseByPath,
} from '../auth/allow.ts'
import { authenticateOn, authenticateSandbox } from '../auth/authenticate.ts'
import type { Deps } from '../deps.ts'
import '../failpoint.ts'
import { takeAgentWrite } from './admission/agent-writes.ts'
import { ofApi, parseJson, readBody } from './bodies/body.ts'
import { claimKey, endClaim } from './idempotency.ts'
import { releaseKey, storeAnswer } from './idempotency-store.ts'
import { type BodyPlace, LargeBodies } from './bodies/large-bodies.ts'
import { compressStream, compressText } from './compress.ts'
import { cutWhole, Page } from './page.ts'
import { orDisconnected, replyError } from './reply-error.ts'
import { responseWhileAdmitted } from './admission/while-admitted.ts'
import { parseWith } from './validation.ts'
import { writeReply } from './write-reply.ts'
import { type AppContext, type Bindings, clientAddress, credentialsOf, type RequestInfo } from './request-info.ts'

type ActorOf<A extends Access> = A extends 'account' | 'account-read' | 'account-admin' | 'user' | 'project-admin'
  ? UserActor
  : A extends 'sandbox'
    ? SandboxActor
    : UserActor | ProjectActor

export interface Input<R extends Route> {
  params: z.output<R['params']>
  query: z.output<R['query']>
  body: z.output<NonNullable<R['body']>>
  caller: R['access'] extends 'public' ? null : Caller<ActorOf<R['access']>>
  project: R['access'] extends `project-${string}` | 'sandbox' ? AuthorizedProject : null
  account: R['access'] extends `account-${string}` ? AuthorizedAccount : null
  request: RequestInfo
}

type Reply<R extends Route> = z.input<R['reply']>

/** A route and its handler. */
export interface Mounted {
  route: Route
  run: (input: Input<Route>) => Promise<unknown>
}

export function handle<R extends Route>(
  route: R,
  run: (input: Input<NoInfer<R>>) => Promise<Reply<NoInfer<R>> | Page<Reply<NoInfer<R>>> | Response>,
): Mounted {
  return { route, run: run as unknown as Mounted['run'] }
}

/** The reply of a route that has nothing to tell but that its work is done. */
export async function ok(work: Promise<unknown>): Promise<{ ok: true }> {
  await work
  return { ok: true }
}

export type App = Hono<{ Bindings: Bindings; Variables: { requestId: string } }>

export function mount(app: App, deps: Deps, mounted: Mounted[]): void {
  for (const each of mounted) app.on(each.route.method, each.route.path, (c) => answer(deps, each, c))
}

async function answer(deps: Deps, mounted: Mounted, c: AppContext): Promise<Response> {
  const request = requestInfo(deps, c)
  const made = await answerOrRefuse(deps, mounted, c, request)
  // Not to callers who were not admitted: the home of a project would tell them that it exists.
  if (request.actor !== null) made.headers.set('x-svc-server', deps.serverName)
  return made
}

async function answerOrRefuse(deps: Deps, mounted: Mounted, c: AppContext, request: RequestInfo): Promise<Response> {
  try {
    return await serve(deps, mounted, c, request)
  } catch (error) {
    const { route } = mounted
    if (error instanceof ServiceError && !route.errors.includes(error.code))
      deps.undeclaredError(route.name, error.code)
    return replyError(orDisconnected(error, request.signal), request, deps)
  }
}

async function serve(deps: Deps, { route, run }: Mounted, c: AppContext, request: RequestInfo): Promise<Response> {
  const params = c.req.param() as Record<string, string>
  const { actor, project, account } = await authorize(deps, route, c.req.raw, request.path, params)
  request.actor = actor
  if (project !== null) nameById(project, params, request)
  request.mayWrite = project !== null && mayWrite(project.role)
  const query = parseWith(route.query, Object.fromEntries(searchOf(c.req.url)), 'query')
  using place = largeBodies.placeOf(actor?.user_id ?? '')
  const bytes = route.body === null ? Buffer.alloc(0) : await readBodyOf(deps, route, c.req.raw, place)
  takeAgentWrite(deps, actor, { route, bytes: bytes.length })
  const body = route.body === null ? undefined : parseWith(route.body, parseJson(bytes), 'request body')
  const caller = actor === null ? null : { actor, requestId: request.id, address: request.address }
  const input = { params, query, body, caller, project, account, request } as unknown as Input<Route>

  if (route.pages !== null) return await reply(route, request, cutWhole(route.pages, query, await run(input)))

  const key = route.idempotent && actor !== null ? request.idempotencyKey : null
  if (key === null || actor === null) {
    const made = await reply(route, request, await run(input))
    if (!isEventStream(made)) return made
    return responseWhileAdmitted(deps, made, async () => {
      const now = await authorize(deps, route, c.req.raw, request.path, params)
      if (now.project?.role !== project?.role) throw new ServiceError('forbidden', 'The role of this reader changed.')
    })
  }
  const scope = scopeOf(actor)
  const claim = await claimKey(deps, { scope, key, method: route.method, path: request.path, body: bytes })
  const replayed = { 'idempotency-replayed': 'true' }
  if (claim.replay !== null && !route.secretReply)
    return jsonResponse(JSON.stringify(claim.replay.body), claim.replay.status, request, replayed)
  request.resourceId = claim.resourceId
  if (claim.replay !== null) {
    request.isRepetition = true
    return jsonResponse((await serialize(route, await run(input))).text, claim.replay.status, request, replayed)
  }
  try {
    await failpoint('idempotency.after_claim')
    const made = await serialize(route, await run(input))
    await failpoint('idempotency.before_keep')
    await storeAnswer(deps.db, { scope, key, status: route.status, body: route.secretReply ? null : made.text })
    await failpoint('idempotency.after_keep')
    return jsonResponse(made.text, route.status, request, made.headers)
  } catch (error) {
    // A refusal made nothing. After any other error the outcome is unknown, so the key stays with its request and a
    // retry finds what exists.
    if (error instanceof ServiceError) {
      await failpoint('idempotency.before_release')
      await releaseKey(deps.db, { scope, key })
    }
    throw error
  } finally {
    endClaim(deps, { scope, key })
  }
}

/** A larger body may take longer. */
function readBodyOf(deps: Deps, { bodyLimit }: Route, raw: Request, place: BodyPlace): Promise<Buffer> {
  const { wholeBodyMs } = deps.config.network.limits
  if (bodyLimit === null) return readBody(raw, ofApi, wholeBodyMs)
  return readBody(raw, bodyLimit, largeBodyTimes * wholeBodyMs, place)
}

const largeBodies = new LargeBodies()

const largeBodyTimes = 5

/** A slug may name another project tomorrow, so from here on the project goes by its id, including in the idempotency key. */
function nameById({ project_id }: AuthorizedProject, params: Record<string, string>, request: RequestInfo): void {
  if (params.projectId === undefined || isUuid(params.projectId)) return
  params.projectId = project_id
  request.path = request.path.replace(/^\/v1\/projects\/[^/]+/, `/v1/projects/${project_id}`)
}

/** The streams of text that a diff is answered with. */
function isCompressible(response: Response): boolean {
  return /^(?:application\/x-ndjson|text\/x-diff)/.test(response.headers.get('content-type') ?? '')
}

function isEventStream(response: Response): boolean {
  return response.headers.get('content-type')?.startsWith('text/event-stream') === true
}

/** Idempotency keys are shared by a user's user tokens, by a user's tokens of one project, and by a session. */
function scopeOf(actor: Actor): string {
  if (actor.kind === 'user') return `user ${actor.user_id}`
  return `${actor.kind} ${actor.project_id} ${actor.session_id ?? ''} ${actor.user_id}`
}

function searchOf(url: string): URLSearchParams {
  const at = url.indexOf('?')
  return new URLSearchParams(at === -1 ? '' : url.slice(at))
}

async function authorize(
  deps: Deps,
  { access, session, deleted }: Pick<Route, 'access' | 'session' | 'deleted'>,
  raw: Request,
  path: string,
  { projectId, accountId, sessionId = '' }: Record<string, string>,
): Promise<Allowed & { actor: Actor | null }> {
  if (access === 'public') return { actor: null, project: null, account: null }
  const credentials = credentialsOf(raw)
  const { actor, read } =
    access === 'sandbox'
      ? { actor: await authenticateSandbox(deps, credentials), read: null }
      : await authenticateOn(deps, credentials, projectId)
  refuseByPath(actor, path)
  return {
    actor,
    ...(await allow(deps, {
      access,
      actor,
      projectId,
      accountId,
      sessionId: session ? sessionId : null,
      read,
      deleted,
    })),
  }
}

async function reply(route: Route, request: RequestInfo, result: unknown): Promise<Response> {
  if (result instanceof Response) {
    result.headers.set('x-request-id', request.id)
    return isCompressible(result) ? compressStream(result, request) : result
  }
  const made = await serialize(route, result)
  // The length of a compressed reply depends on its content, so a reply with a secret is sent as it is.
  if (route.secretReply) return jsonResponse(made.text, route.status, request, made.headers)
  const { body, headers } = await compressText(made.text, request)
  return jsonResponse(body, route.status, request, { ...made.headers, ...headers })
}

/** Every reply is parsed by its schema, so a column the schema does not name cannot leave. */
async function serialize(route: Route, result: unknown): Promise<{ text: string; headers: Record<string, string> }> {
  const paged = result instanceof Page
  const text = await writeReply(route.reply, paged ? result.body : result)
  return { text, headers: paged && result.next !== null ? { link: result.next } : {} }
}

function jsonResponse(
  body: string | Uint8Array<ArrayBuffer>,
  status: number,
  request: RequestInfo,
  headers: Record<string, string> = {},
): Response {
  const { link, ...rest } = headers
  return new Response(body, {
    status,
    headers: {
      'content-type': 'application/json; charset=utf-8',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      'x-request-id': request.id,
      ...(request.warnings.length === 0 ? {} : { 'svc-warnings': headerOf(request.warnings) }),
      ...rest,
      ...(link === undefined ? {} : { link: `<${nextUrl(request, link)}>; rel="next"` }),
    },
  })
}

/** A JSON list in pure ASCII, which a header can carry. */
function headerOf(warnings: string[]): string {
  return JSON.stringify(warnings.slice(0, 20)).replace(
    /[^\x20-\x7e]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

function nextUrl(request: RequestInfo, cursor: string): string {
  const url = new URL(request.url)
  url.searchParams.set('cursor', cursor)
  return url.pathname + url.search
}

export function requestInfo(deps: Pick<Deps, 'newId'>, c: AppContext): RequestInfo {
  return {
    id: c.get('requestId'),
    actor: null,
    mayWrite: false,
    method: c.req.method,
    url: c.req.url,
    // As the router decoded it, so that the authorized path is the served one.
    path: c.req.path,
    address: clientAddress(c),
    signal: c.req.raw.signal,
    headers: c.req.raw.headers,
    fromSandbox: c.env?.incoming?.svcFromSandbox === true,
    idempotencyKey: c.req.header('idempotency-key') ?? null,
    resourceId: deps.newId(),
    isRepetition: false,
    warnings: [],
  }
}
