/** The model gateway: authenticates sandboxes by per-session keys and forwards their calls to the operator's upstreams, in the OpenAI and Anthropic formats. */
import {
  bareModelName,
  errorClass,
  type ErrorCode,
  errorStatus,
  modelGatewayPath,
  scriptedModelName,
  ServiceError,
} from '@svc/contract'
import { getMember } from '../accounts/store.ts'
import type { SandboxActor } from '../auth/actor.ts'
import { actorOfSandboxCredential, isModelKeyOfWarmSandbox, unauthenticated } from '../auth/credentials.ts'
import { bearerToken } from '../auth/authenticate.ts'
import { endedMembership } from '../auth/ended-membership.ts'
import type { Deps } from '../deps.ts'
import { parseJson, readBody } from '../http/bodies/body.ts'
import { bounded } from '../http/bodies/streams.ts'
import { invalid } from '../http/validation.ts'
import type { App } from '../http/mount.ts'
import { replyError } from '../http/reply-error.ts'
import type { AppContext } from '../http/request-info.ts'
import { defaultModel, modelCatalog, offersModel } from '../model-catalog/catalog.ts'
import { getSessionById } from '../sessions/store.ts'
import { reserve } from './usage/budget.ts'
import { meteredBody, meteredStream, type Metering } from './usage/metered.ts'
import { CallRate } from './usage/rate.ts'
import { asChat, messagesAnswer, type MessagesRequest } from './scripted/anthropic-format.ts'
import { type ChatRequest, nextMove } from './scripted/scripted.ts'
import { type Answer, completion } from './scripted/chat-format.ts'
import type { SpanAttributes } from '../tracing/tracing.ts'
import { errorInShape, type ModelRequest, readRequest } from './shapes.ts'
import { followSavedUpstream } from './upstreams/saved-upstream.ts'
import { addUsage, type Spender } from './store.ts'
import { untilFollowed } from './until-followed.ts'
import { callUpstreams, type UpstreamCall } from './upstreams/call.ts'
import { type Shape, type Upstreams, upstreamsOf, withheldAnswer } from './upstreams/upstreams.ts'

/** Conversations exceed the API's 1 MiB limit; this one still bounds memory. */
const conversationLimit = { bytesMax: 32 * 1024 * 1024, refusal: 'The conversation is larger than 32 MiB.' }
const answerBytesMax = 64 * 1024 * 1024

interface Gateway {
  deps: Deps
  upstreams: Upstreams
  rate: CallRate
}

export function modelRoutes(app: App, deps: Deps): void {
  const gateway = { deps, upstreams: upstreamsOf(deps.config), rate: new CallRate(deps.config.modelCallsPerMinute) }
  const guarded =
    (shape: Shape, answer: (gateway: Gateway, c: AppContext) => Promise<Response>) => async (c: AppContext) => {
      try {
        return await answer(gateway, c)
      } catch (error) {
        const refusal = replyError(error, { id: c.get('requestId'), method: c.req.method, path: c.req.path }, deps)
        return inShape(shape, refusal)
      }
    }
  app.post(
    `${modelGatewayPath}/chat/completions`,
    guarded('openai', (gateway, c) => complete(gateway, c, 'openai', '/chat/completions')),
  )
  // Some Anthropic SDKs append v1 to the base URL, others expect it in there.
  for (const prefix of ['', '/v1'])
    app.post(
      `${modelGatewayPath}${prefix}/messages`,
      guarded('anthropic', (gateway, c) => complete(gateway, c, 'anthropic', '/messages')),
    )
  app.get(`${modelGatewayPath}/models`, guarded('openai', listModels))
}

function keyOf(c: AppContext): string {
  const apiKey = c.req.header('x-api-key')
  if (apiKey !== undefined) return apiKey
  const authorization = c.req.header('authorization')
  if (authorization === undefined)
    throw unauthenticated('The model gateway requires the key of a session.', 'Inside a sandbox, use SVC_LLM_API_KEY.')
  return bearerToken(authorization)
}

interface Caller {
  spender: Spender
  /** The model of the session, for requests that name none. */
  model: string
  /** Names that an operator configured. */
  names: readonly string[]
  scripted: boolean
  /** Whether to replace a requested model by `model`. */
  isReplaced: (model: string) => boolean
}

async function callerOf({ deps, upstreams }: Gateway, c: AppContext): Promise<Caller> {
  const actor = await actorOfSandboxCredential(deps, 'model', keyOf(c))
  const session = await getSessionById(deps.db, actor.session_id)
  if (session === null || session.generation !== actor.generation)
    throw unauthenticated('The sandbox of this key was stopped.')
  await requireMember(deps.db, actor, session.account_id)
  await untilFollowed(deps.sessions, session, c.req.raw.signal)
  const { account_id, project_id, session_id } = session
  const spender = { account_id, project_id, session_id }
  if (session.model === scriptedModelName)
    return { spender, model: scriptedModelName, names: [], scripted: true, isReplaced: () => false }
  await followSavedUpstream(deps, upstreams)
  const catalog = await modelCatalog(deps)
  const standard = defaultModel(catalog)
  if (standard === null)
    throw new ServiceError('model_not_configured', 'No model is configured on this server.', {
      hint: 'An owner of this server can set one under Settings, Model.',
    })
  return {
    spender,
    model: session.model === null ? standard : bareModelName(session.model),
    names: catalog.names,
    scripted: false,
    // A running sandbox keeps the default it started with, which an owner may have replaced since.
    isReplaced: (model) => session.model === null && catalog.source === 'saved' && !offersModel(catalog, model),
  }
}

/** The git gateway and the API refuse the other credentials of the sandbox in the same way. */
async function requireMember(db: Deps['db'], actor: SandboxActor, accountId: string): Promise<void> {
  if ((await getMember(db, accountId, actor.user_id)) !== null) return
  const { code, message, hint } = await endedMembership(db, actor)
  // A conversation shows the message of a refused model call, and nothing beside it.
  throw new ServiceError(code, `${message} ${hint}`)
}

async function complete(gateway: Gateway, c: AppContext, shape: Shape, path: string): Promise<Response> {
  const { deps } = gateway
  // A runtime warms up before it has a session; that needs no model.
  const isWarmUp = await isModelKeyOfWarmSandbox(deps, keyOf(c))
  const caller = isWarmUp ? null : await callerOf(gateway, c)
  const bytes = await readBody(c.req.raw, conversationLimit)
  const body = parseJson(bytes)
  if (typeof body !== 'object' || body === null || !Array.isArray((body as { messages?: unknown }).messages))
    throw invalid('messages is required.', [{ path: 'messages', message: 'is required' }])
  if (caller === null)
    return inFormat(shape, { model: 'none', text: 'ok', stream: (body as { stream?: unknown }).stream === true })
  if (caller.scripted) {
    await addUsage(deps.db, { ...caller.spender, model: scriptedModelName, tokens: { in: 0, out: 0 } })
    return scripted(shape, body)
  }
  gateway.rate.take(caller.spender.session_id, Date.now())
  const sent = body as Record<string, unknown>
  const request =
    typeof sent.model === 'string' && caller.isReplaced(sent.model) ? { ...sent, model: caller.model } : sent
  const ask = readRequest(shape, request, bytes.length, caller.model)
  return forward(gateway, { caller, shape, path, ask, c })
}

function scripted(shape: Shape, body: object): Response {
  const request = shape === 'anthropic' ? asChat(body as MessagesRequest) : (body as ChatRequest)
  return inFormat(shape, { ...nextMove(request), model: scriptedModelName, stream: request.stream === true })
}

function inFormat(shape: Shape, answer: Answer): Response {
  return shape === 'anthropic' ? messagesAnswer(answer) : completion(answer)
}

async function forward(
  { deps, upstreams }: Gateway,
  input: { caller: Caller; shape: Shape; path: string; ask: ModelRequest; c: AppContext },
): Promise<Response> {
  const { caller, shape, path, ask, c } = input
  const reservation = await reserve(deps, { spender: caller.spender, shape, ask })
  let response: Response
  try {
    const headers = shape === 'anthropic' ? versionsOf(c) : {}
    const { body } = reservation
    const { signal } = c.req.raw
    const call = { shape, path, model: ask.model, body, headers, signal }
    response = await tracedCall(deps, caller, call, () => callUpstreams(deps, upstreams, call))
  } catch (error) {
    reservation.settle(null)
    throw error
  }
  const metering: Metering = {
    shape,
    hidesCount: ask.hidesCount,
    estimated: { in: ask.tokensIn },
    guard: upstreams.guard,
    ended: reservation.settle,
  }
  return meterResponse(response, ask, metering)
}

/** Until the answer begins. In the trace of the agent's turn, when this server follows its session. */
function tracedCall(
  { tracing, sessions }: Pick<Deps, 'tracing' | 'sessions'>,
  { names, spender }: Caller,
  { shape, model }: Pick<UpstreamCall, 'shape' | 'model'>,
  call: () => Promise<Response>,
): Promise<Response> {
  const turn = sessions.followerOf(spender.session_id)?.span.current ?? null
  const attributes: SpanAttributes = {
    'gen_ai.operation.name': 'chat',
    'gen_ai.provider.name': shape,
    ...(names.includes(model) ? { 'gen_ai.request.model': model } : {}),
    'svc.project_id': spender.project_id,
    'svc.session_id': spender.session_id,
  }
  return tracing.span(
    'chat',
    { kind: 'client', attributes, ...(turn === null ? {} : { parent: turn }) },
    async (span) => {
      const response = await call()
      span.set({ 'http.response.status_code': response.status })
      if (!response.ok) span.fail(String(response.status))
      return response
    },
  )
}

async function meterResponse(response: Response, ask: ModelRequest, metering: Metering): Promise<Response> {
  const { shape, guard, ended } = metering
  const plain = (header: string | null) => (header === null || guard(header) === header ? header : null)
  const type = plain(response.headers.get('content-type')) ?? 'application/json'
  const retryAfter = plain(response.headers.get('retry-after'))
  const headers = {
    'content-type': type,
    'cache-control': 'no-store',
    ...(retryAfter === null ? {} : { 'retry-after': retryAfter }),
  }
  const { status, body } = response
  if (!response.ok) {
    ended(null)
    const text = (await wholeOf(response)).toString('utf8')
    return guard(text) === text ? new Response(text, { status, headers }) : withheld(shape, status)
  }
  if (body !== null && (type.includes('event-stream') || (ask.stream && !type.includes('json'))))
    return new Response(meteredStream(body, metering), { status, headers })
  const whole = await wholeOf(response).catch((error: unknown) => {
    ended(null)
    throw error
  })
  const text = whole.toString('utf8')
  meteredBody(text, metering)
  if (guard(text) !== text) return withheld(shape, errorStatus('model_upstream_failed'))
  return new Response(new Uint8Array(whole), { status, headers })
}

/** Replaces text that contains a key of this server. */
function withheld(shape: Shape, status: number): Response {
  return Response.json(errorInShape(shape, { error: withheldAnswer, code: 'model_upstream_failed' }, 'unavailable'), {
    status,
  })
}

async function wholeOf({ body }: Response): Promise<Buffer> {
  const parts = bounded(body, answerBytesMax, 'The response is larger than 64 MiB.')
  const whole = await Array.fromAsync(parts).catch((error: unknown) => {
    throw new ServiceError('model_upstream_failed', 'The response of the model upstream was interrupted.', {
      cause: error,
    })
  })
  return Buffer.concat(whole)
}

/** Headers in which an Anthropic client selects the API version. */
function versionsOf(c: AppContext): Record<string, string> {
  const beta = c.req.header('anthropic-beta')
  return {
    'anthropic-version': c.req.header('anthropic-version') ?? '2023-06-01',
    ...(beta === undefined ? {} : { 'anthropic-beta': beta }),
  }
}

async function listModels(gateway: Gateway, c: AppContext): Promise<Response> {
  const { model } = await callerOf(gateway, c)
  // Reload the upstreams file if it changed: the catalog lists its models.
  gateway.upstreams.all(gateway.deps)
  const names = [...new Set([model, ...(await modelCatalog(gateway.deps)).names])]
  return Response.json({ object: 'list', data: names.map((id) => ({ id, object: 'model', owned_by: 'svc' })) })
}

/** Model clients read `error.message`; the service's own fields stay beside it. */
async function inShape(shape: Shape, response: Response): Promise<Response> {
  const body = (await response.json()) as { error: string; code: string }
  return Response.json(errorInShape(shape, body, errorClass(body.code as ErrorCode)), {
    status: response.status,
    headers: response.headers,
  })
}
