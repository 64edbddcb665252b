/** Reads an answer: returns its body, or throws the error it holds. */
import type { ApiClient } from '@svc/contract/api'
import { errorOf, notOurs, TransportError } from './errors.ts'

export interface Answer<T> {
  data?: T
  error?: unknown
  response: Response
}

/** A key for one intention: the service carries it out once, however often the request is sent. */
export function onlyOnce(newId: () => string = () => crypto.randomUUID()): { 'Idempotency-Key': string } {
  return { 'Idempotency-Key': newId() }
}

/** The body of a successful answer. Throws the ServiceError of any other. */
export async function reply<T>(call: Promise<Answer<T>>): Promise<T> {
  return (await accepted(call, isObject<T>)).data
}

/** The body of an event stream, a patch or a file. */
export async function replyStream(call: Promise<Answer<unknown>>): Promise<ReadableStream<Uint8Array>> {
  return (await accepted(call, (data) => data instanceof ReadableStream)).data
}

/** The body, and the warnings about what the service did all the same. */
export async function replyWarned<T>(call: Promise<Answer<T>>): Promise<{ data: T; warnings: string[] }> {
  const { data, response } = await accepted(call, isObject<T>)
  return { data, warnings: warningsIn(response.headers.get('svc-warnings')) }
}

function warningsIn(header: string | null): string[] {
  try {
    const list: unknown = JSON.parse(header ?? '[]')
    return Array.isArray(list) ? list.filter((each) => typeof each === 'string') : []
  } catch {
    return []
  }
}

/** One page of a list, and the cursor of the next page; null on the last one. */
export async function replyPage<T>(call: Promise<Answer<T>>): Promise<{ data: T; cursor: string | null }> {
  const { data, response } = await accepted(call, isObject<T>)
  const next = nextPage(response)
  return { data, cursor: next === null ? null : new URL(next, 'http://localhost').searchParams.get('cursor') }
}

/** The path of the next page, from `Link: <…>; rel="next"`. */
export function nextPage(response: Response): string | null {
  return /<(\/[^>]*)>;\s*rel="next"/.exec(response.headers.get('link') ?? '')?.[1] ?? null
}

/** Calls any route. The path follows the server's address, so the token cannot go anywhere else. */
export async function callRoute(
  api: ApiClient,
  method: string,
  path: string,
  options: { headers: Record<string, string>; body?: unknown },
): Promise<{ text: string; response: Response }> {
  const call = api.request as unknown as (method: string, path: string, init: object) => Promise<Answer<string>>
  const { data, error, response } = await call(method.toLowerCase(), path, { ...options, parseAs: 'text' })
  if (!response.ok) throw errorOf(response, error)
  return { text: data ?? '', response }
}

/** A successful answer, if its body is one that `fits`. */
async function accepted<T, Data extends T>(
  call: Promise<Answer<T>>,
  fits: (data: T | undefined) => data is Data,
): Promise<{ data: Data; response: Response }> {
  const { data, error, response } = await call.catch(notJson)
  if (!response.ok) throw errorOf(response, error)
  if (!fits(data)) throw notOurs(response)
  return { data, response }
}

function isObject<T>(data: T | undefined): data is T {
  return typeof data === 'object' && data !== null
}

function notJson(error: unknown): never {
  if (!(error instanceof SyntaxError)) throw error
  throw new TransportError('bad_answer', 'The answer is not JSON', { address: '', cause: error })
}
