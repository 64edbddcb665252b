/** The model gateway: OpenAI-compatible, per-session keys in front, the operator's upstream behind. */
import { modelGatewayPath, scriptedModelName, ServiceError } from '@svc/contract'
import { actorOfSandboxCredential, isModelKeyInWaiting, unauthenticated } from '../auth/credentials.ts'
import { bearerToken } from '../auth/authenticate.ts'
import type { Deps } from '../deps.ts'
import { invalid, parseJson, readBody } from '../http/body.ts'
import type { App } from '../http/mount.ts'
import { replyError } from '../http/reply-error.ts'
import type { AppContext } from '../http/request-info.ts'
import { getSessionById } from '../sessions/store.ts'
import { scriptedCompletion } from './scripted.ts'
import { completion } from './scripted-reply.ts'
import { askUpstream } from './upstream.ts'

/** Conversations are long: more than the API's 1 MiB, less than what would hurt. */
const ofConversation = { bytesMax: 32 * 1024 * 1024, refusal: 'The conversation is larger than 32 MiB.' }

export function modelRoutes(app: App, deps: Deps): void {
  const guarded = (answer: (deps: Deps, c: AppContext) => Promise<Response>) => async (c: AppContext) => {
    try {
      return await answer(deps, c)
    } catch (error) {
      return openAiShape(replyError(error, { id: c.get('requestId'), method: c.req.method, path: c.req.path }, deps))
    }
  }
  app.post(`${modelGatewayPath}/chat/completions`, guarded(complete))
  app.get(`${modelGatewayPath}/models`, guarded(listModels))
}

function keyOf(c: AppContext): string {
  const authorization = c.req.header('authorization')
  if (authorization === undefined)
    throw unauthenticated('The model gateway needs the key of a session.', 'Inside a sandbox it is SVC_LLM_API_KEY.')
  return bearerToken(authorization)
}

async function modelOfCaller(deps: Deps, c: AppContext): Promise<{ name: string; scripted: boolean }> {
  const actor = await actorOfSandboxCredential(deps, 'model', keyOf(c))
  const session = await getSessionById(deps.db, actor.session_id)
  if (session === null || session.generation !== actor.generation)
    throw unauthenticated('The sandbox of this key was stopped.')
  if (session.model === scriptedModelName) return { name: scriptedModelName, scripted: true }
  if (deps.config.model === null)
    throw new ServiceError('model_not_configured', 'This server has no model upstream.', {
      hint: 'Set SVC_LLM_UPSTREAM_URL and SVC_LLM_MODEL, or add a model key as a secret of the project.',
    })
  return { name: session.model ?? deps.config.model.name, scripted: false }
}

async function complete(deps: Deps, c: AppContext): Promise<Response> {
  // A runtime that rehearses before there is a session: no model is asked for that.
  const isRehearsal = await isModelKeyInWaiting(deps, keyOf(c))
  const model = isRehearsal ? null : await modelOfCaller(deps, c)
  const body = parseJson(await readBody(c.req.raw, ofConversation))
  if (typeof body !== 'object' || body === null || !Array.isArray((body as { messages?: unknown }).messages))
    throw invalid('messages is required.', [{ path: 'messages', message: 'is required' }])
  if (model === null)
    return completion({ model: 'none', text: 'ok', stream: (body as { stream?: unknown }).stream === true })
  if (model.scripted) return scriptedCompletion(body as unknown as Parameters<typeof scriptedCompletion>[0])
  return askUpstream(deps, body, c.req.raw.signal)
}

async function listModels(deps: Deps, c: AppContext): Promise<Response> {
  const { name } = await modelOfCaller(deps, c)
  return Response.json({ object: 'list', data: [{ id: name, object: 'model', owned_by: 'svc' }] })
}

/** Model clients read `error.message`; our own fields stay beside it. */
async function openAiShape(response: Response): Promise<Response> {
  const body = (await response.json()) as { error: string; code: string }
  return Response.json(
    { ...body, error: { message: body.error, type: body.code, code: body.code } },
    { status: response.status, headers: response.headers },
  )
}
