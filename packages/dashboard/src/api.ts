/** The contract's client, from the page's own origin with its cookie. A refusal is thrown as the error the service threw. */
import { type ApiClient, createApiClient } from '@svc/contract/api'
import type { GetPath, Params, Reply } from './prefetch/requests.ts'
import { takePrefetched } from './prefetch/script.ts'

export type { Reply } from './prefetch/requests.ts'

export class ApiError extends Error {
  readonly code: string
  readonly status: number
  readonly hint: string | null
  readonly detail: Record<string, unknown>
  constructor(status: number, body: Record<string, unknown>) {
    const { error, code, hint, ...detail } = body
    super(typeof error === 'string' ? error : `The service answered with status ${status}.`)
    this.name = 'ApiError'
    this.status = status
    this.code = typeof code === 'string' ? code : 'internal'
    this.hint = typeof hint === 'string' ? hint : null
    this.detail = detail
  }
}

export const unreachable = (hint: string) =>
  new ApiError(0, { error: "Can't reach the service.", code: 'unreachable', hint })

export const api: ApiClient = createApiClient({
  base: location.origin,
  headers: {},
  fetch: async (request) => {
    try {
      return await fetch(request)
    } catch (error) {
      if (request.signal.aborted) throw error
      throw unreachable('Check that it is running. This page reconnects automatically.')
    }
  },
})

export interface Answer<T> {
  data?: T
  error?: unknown
  response: Response
}

export async function reply<T>(call: Promise<Answer<T>>): Promise<T> {
  const { data, error, response } = await call
  if (response.ok) return data as T
  throw new ApiError(response.status, typeof error === 'object' && error !== null ? { ...error } : {})
}

/** Reads one route, for a query function. */
export async function get<P extends GetPath>(path: P, params: Params<P>, signal: AbortSignal): Promise<Reply<P>> {
  return (await takePrefetched(path, params)) ?? reply(send(path, params, signal))
}

export interface Page<T> {
  data: T
  cursor: string | null
}

/** Reads one page of a list, with the cursor of the next page. */
export async function getPage<P extends GetPath>(
  path: P,
  params: Params<P>,
  signal: AbortSignal,
): Promise<Page<Reply<P>>> {
  const answer = await send(path, params, signal)
  const data = await reply(Promise.resolve(answer))
  const next = /<([^>]*)>;\s*rel="next"/.exec(answer.response.headers.get('link') ?? '')?.[1]
  return { data, cursor: next === undefined ? null : new URL(next, location.origin).searchParams.get('cursor') }
}

/** Reads one route as a stream of the media type `accept`. */
export function getStream<P extends GetPath>(
  path: P,
  params: Params<P>,
  { accept, signal }: { accept: string; signal: AbortSignal },
): Promise<ReadableStream<Uint8Array>> {
  return reply(send(path, params, signal, { headers: { accept }, parseAs: 'stream' }))
}

/** The client's own types cannot follow a path that is a parameter. */
function send<P extends GetPath, T = Reply<P>>(
  path: P,
  params: Params<P>,
  signal: AbortSignal,
  how: object = {},
): Promise<Answer<T>> {
  const call = api.GET as (path: P, init: object) => Promise<Answer<T>>
  return call(path, { params, signal, ...how })
}

/** No response of the service, or one from a proxy in front of it: it may have run the request. */
export function isUnanswered(error: unknown): boolean {
  return error instanceof ApiError && (error.status === 0 || (error.status > 500 && error.code === 'internal'))
}

/** The request had no valid sign-in, or a wrong password. */
export function isUnauthenticated(error: unknown): boolean {
  return error instanceof ApiError && error.code === 'unauthenticated'
}

export function isNotFound(error: unknown): error is ApiError {
  return error instanceof ApiError && error.code === 'not_found'
}

/** One key for each attempt of the user: the service runs it once, however often the request is sent. */
export function onlyOnce(): { 'Idempotency-Key': string } {
  return { 'Idempotency-Key': crypto.randomUUID() }
}
