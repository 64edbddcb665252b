/** Requests to the service: sent, tried again where that is safe, and their refusals made errors. */
import { type ApiClient, createApiClient } from '@svc/contract/api'
import { classOfCode, type ErrorCode, ServiceError, statusOfClass } from '@svc/contract/errors'
import { fetchProgressText, readFetchProgress } from '@svc/contract/fetch-progress'
import { version } from './build-values.ts'
import { Refusal } from './errors.ts'
import type { Io } from './io.ts'

const timeoutMs = 120_000
/** After this a person wonders what it waits for. */
const slowMs = 500
const inProgressTries = 40
/** At two seconds each and the server's own wait: longer than the ten minutes the server gives a fetch. */
const fetchingTries = 600

/** Called while an answer is slow to come. */
export interface Notice {
  show(progress?: string): void
  hide(): void
}

export function connect(
  io: Pick<Io, 'signal' | 'sleep'>,
  host: { name: string; base: string },
  token: string | null,
  notice?: Notice,
): ApiClient {
  return createApiClient({
    base: host.base,
    headers: {
      'User-Agent': `svc/${version}`,
      ...(token === null ? {} : { Authorization: `Bearer ${token}` }),
    },
    async fetch(request) {
      let shown = false
      const show = (progress?: string) => {
        shown = true
        notice?.show(progress)
      }
      const slow = setTimeout(() => show(), slowMs)
      try {
        return await send(io, host, request, (progress) => {
          clearTimeout(slow)
          show(progress)
        })
      } finally {
        clearTimeout(slow)
        if (shown) notice?.hide()
      }
    },
  })
}

/** One key for one intention: the service runs it once, however often it is sent. */
export function onlyOnce(io: Pick<Io, 'newId'>): { 'Idempotency-Key': string } {
  return { 'Idempotency-Key': io.newId() }
}

async function send(
  io: Pick<Io, 'signal' | 'sleep'>,
  host: { name: string; base: string },
  request: Request,
  show: (progress: string) => void,
): Promise<Response> {
  const streamed = request.headers.get('accept') === 'text/event-stream'
  const repeatable = request.method === 'GET' || request.headers.has('idempotency-key')
  const once = () =>
    fetch(request.clone(), {
      signal: AbortSignal.any([io.signal, request.signal, ...(streamed ? [] : [AbortSignal.timeout(timeoutMs)])]),
      // A redirect could carry the token to another origin.
      redirect: 'manual',
      // A quiet event stream is not a dead one.
      ...(streamed ? { timeout: false } : {}),
    } as RequestInit)
  let response: Response
  try {
    response = await once().catch((error: unknown) => {
      if (repeatable && isReset(error)) return once()
      throw error
    })
    for (let i = 0; i < inProgressTries && (await isInProgress(request, response)); i++) {
      await io.sleep(250)
      response = await once()
    }
    for (let i = 0; i < fetchingTries && repeatable && response.status === 503; i++) {
      const fetching = await fetchingIn(response)
      if (fetching === null) break
      show(fetching.text)
      await io.sleep(fetching.retryMs)
      response = await once()
    }
  } catch (error) {
    if (io.signal.aborted || request.signal.aborted) throw error
    throw unreachable(host, error)
  }
  if (response.status >= 300 && response.status < 400)
    throw new Refusal('bad_answer', `${host.base} answers with a redirect`, {
      hint: `It points to ${response.headers.get('location')}. Add that address as the host if it is right.`,
      next: ['svc hosts add <name> --url <url>'],
    })
  return response
}

/** The connection broke after it was made, so the request may or may not have been carried out. */
function isReset(error: unknown): boolean {
  const code = (error as { code?: unknown }).code
  return code === 'ECONNRESET' || code === 'ConnectionClosed' || code === 'EPIPE' || code === 'UND_ERR_SOCKET'
}

/** Our first try is still being carried out: its answer will be ours. */
async function isInProgress(request: Request, response: Response): Promise<boolean> {
  if (response.status !== 409 || !request.headers.has('idempotency-key')) return false
  const body: unknown = await response
    .clone()
    .json()
    .catch(() => null)
  return (body as { code?: unknown } | null)?.code === 'idempotency_in_progress'
}

/** The server fetches the repository for this request; null: it was refused for another reason. */
async function fetchingIn(response: Response): Promise<{ text: string; retryMs: number } | null> {
  const body = (await response
    .clone()
    .json()
    .catch(() => null)) as { code?: unknown; progress?: unknown } | null
  if (body?.code !== 'repository_fetching') return null
  const seconds = Number(response.headers.get('retry-after') ?? Number.NaN)
  const retryMs = (seconds >= 1 && seconds <= 60 ? seconds : 2) * 1000
  return { text: fetchProgressText(readFetchProgress(body.progress)), retryMs }
}

function unreachable(host: { name: string; base: string }, error: unknown): Refusal {
  const name = (error as Error).name
  const code = String((error as { code?: unknown }).code ?? '')
  const local = /^https?:\/\/(127\.|localhost|\[::1\])/.test(host.base)
  if (name === 'TimeoutError')
    return new Refusal('timed_out', `${host.base} did not answer within ${timeoutMs / 1000} seconds`, { cause: error })
  return new Refusal('unreachable', `${host.base} cannot be reached`, {
    hint: local
      ? 'Is the server running? Start it with npm start, or svc server.'
      : `Check the address and the network. (${code || (error as Error).message})`,
    next: local ? ['npm start', 'svc server', 'svc hosts ls'] : ['svc hosts ls'],
    cause: error,
  })
}

interface Answer<T> {
  data?: T
  error?: unknown
  response: Response
}

/** The body of a good answer; a refusal is thrown as the error the service threw. */
export async function reply<T>(call: Promise<Answer<T>>): Promise<T> {
  const { data, error, response } = await parsed(call)
  if (response.ok && typeof data === 'object' && data !== null) return data
  if (response.ok) throw notOurs(response)
  throw refusal(response, error)
}

/** The body of an event stream or a patch. */
export async function replyStream(call: Promise<Answer<unknown>>): Promise<ReadableStream<Uint8Array>> {
  const { data, error, response } = await parsed(call)
  if (response.ok && data instanceof ReadableStream) return data
  if (response.ok) throw notOurs(response)
  throw refusal(response, error)
}

/** What the service did and holds for a mistake all the same. */
export async function replyWarned<T>(call: Promise<Answer<T>>): Promise<{ data: T; warnings: string[] }> {
  const answer = call.then((value) => value)
  const data = await reply(answer)
  return { data, warnings: warningsIn((await answer).response.headers.get('svc-warnings')) }
}

function warningsIn(header: string | null): string[] {
  try {
    const list: unknown = JSON.parse(header ?? '[]')
    return Array.isArray(list) ? list.filter((each) => typeof each === 'string') : []
  } catch {
    return []
  }
}

/** Whether a list goes on, from its `Link: <…>; rel="next"`. */
export async function replyPage<T>(call: Promise<Answer<T>>): Promise<{ data: T; cursor: string | null }> {
  const answer = call.then((value) => value)
  const data = await reply(answer)
  const next = /<([^>]*)>;\s*rel="next"/.exec((await answer).response.headers.get('link') ?? '')?.[1]
  return { data, cursor: next === undefined ? null : new URL(next, 'http://localhost').searchParams.get('cursor') }
}

/** Any route of the service. The path is put behind the host's address, so the token cannot leave it. */
export async function callRoute(
  api: ApiClient,
  method: string,
  path: string,
  options: { headers: Record<string, string>; body?: unknown },
): Promise<{ text: string; response: Response }> {
  const call = api.request as unknown as (method: string, path: string, init: object) => Promise<Answer<string>>
  const { data, error, response } = await call(method.toLowerCase(), path, { ...options, parseAs: 'text' })
  if (!response.ok) throw refusal(response, error)
  return { text: data ?? '', response }
}

/** The path of the page after this one, from `Link: <…>; rel="next"`. */
export function nextPage(response: Response): string | null {
  const next = /<(\/[^>]*)>;\s*rel="next"/.exec(response.headers.get('link') ?? '')?.[1]
  return next ?? null
}

async function parsed<T>(call: Promise<Answer<T>>): Promise<Answer<T>> {
  try {
    return await call
  } catch (error) {
    if (error instanceof SyntaxError)
      throw new Refusal('bad_answer', 'The answer is not JSON', { hint: 'Is this address a svc server?', cause: error })
    throw error
  }
}

function notOurs(response: Response): Refusal {
  return new Refusal('bad_answer', `${new URL(response.url).origin} does not answer like a svc server`, {
    next: ['svc hosts ls'],
  })
}

function refusal(response: Response, body: unknown): Error {
  if (typeof body !== 'object' || body === null) return notOurs(response)
  const { error, code, hint, ...detail } = body as Record<string, unknown>
  if (typeof error !== 'string') return notOurs(response)
  return new ServiceError(knownCode(code, response.status), error, {
    ...(typeof hint === 'string' ? { hint } : {}),
    detail: {
      ...detail,
      ...(response.headers.has('retry-after') ? { retry_after: response.headers.get('retry-after') } : {}),
      ...(response.headers.has('x-request-id') ? { request_id: response.headers.get('x-request-id') } : {}),
    },
  })
}

/** A newer server may know narrower codes; its status still says the class. */
function knownCode(code: unknown, status: number): ErrorCode {
  if (typeof code === 'string' && (Object.hasOwn(classOfCode, code) || Object.hasOwn(statusOfClass, code)))
    return code as ErrorCode
  const found = Object.entries(statusOfClass).find(([, value]) => value === status)
  return (found?.[0] ?? 'internal') as ErrorCode
}
