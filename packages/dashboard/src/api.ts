/** The contract's client, from the page's own origin with its cookie. A refusal is thrown as the error the service threw. */
import { type ApiClient, createApiClient } from '@svc/contract/api'
import { begunAnswer } from './begun.ts'

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

export const api: ApiClient = createApiClient({
  base: location.origin,
  headers: {},
  fetch: async (request) => {
    try {
      return (await begunAnswer(request)) ?? (await fetch(request))
    } catch (error) {
      if (request.signal.aborted) throw error
      throw new ApiError(0, {
        error: 'The service cannot be reached.',
        code: 'unreachable',
        hint: 'Is it running? The page goes on by itself once it answers.',
      })
    }
  },
})

interface Answer<T> {
  data?: T
  error?: unknown
  response: Response
}

/** The body of a good answer. */
export async function reply<T>(call: Promise<Answer<T>>): Promise<T> {
  const { data, error, response } = await call
  if (response.ok) return data as T
  throw new ApiError(response.status, typeof error === 'object' && error !== null ? { ...error } : {})
}

/** One page of a list with the cursor of the next. */
export async function replyPage<T>(call: Promise<Answer<T>>): Promise<{ data: T; cursor: string | null }> {
  const answer = await call
  const data = await reply(Promise.resolve(answer))
  const next = /<([^>]*)>;\s*rel="next"/.exec(answer.response.headers.get('link') ?? '')?.[1]
  return { data, cursor: next === undefined ? null : new URL(next, location.origin).searchParams.get('cursor') }
}

/** One key for one intention: the service runs it once, however often it is sent. */
export function onlyOnce(): { 'Idempotency-Key': string } {
  return { 'Idempotency-Key': crypto.randomUUID() }
}
