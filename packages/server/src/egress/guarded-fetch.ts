/** `fetch` for URLs that a project configures. It checks and pins the address and limits the response. */
import { pinnedFetch } from '@svc/git'
import { resolveWebAddress, type WebPolicy } from './web-address.ts'

export interface GuardOptions extends WebPolicy {
  /** The maximum size of a response, streamed or not. */
  bytesMax: number
  /** The maximum time without data. */
  idleMs: number
  /** For callers whose reader of the body hides errors. */
  onTooLarge?(error: AnswerTooLarge): void
}

export class AnswerTooLarge extends Error {}

type Fetch = (url: string | URL, init?: RequestInit) => Promise<Response>

/** Follows no redirect, which would forward the credential; the caller handles redirects. */
export function guardedFetch(options: GuardOptions): Fetch {
  return async (input, init = {}) => {
    const url = new URL(input)
    const pin = await resolveWebAddress(url, options)
    return bounded(await pinnedFetch(url, init, { pin, idleMs: options.idleMs }), options)
  }
}

/** Counts while reading, because the size is unknown before. */
function bounded(answer: Response, { bytesMax, onTooLarge }: GuardOptions): Response {
  if (answer.body === null) return answer
  let bytes = 0
  const counted = answer.body.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        bytes += chunk.length
        if (bytes <= bytesMax) return controller.enqueue(chunk)
        const error = new AnswerTooLarge(`The response is larger than ${bytesMax} bytes.`)
        onTooLarge?.(error)
        throw error
      },
    }),
  )
  return new Response(counted, { status: answer.status, headers: answer.headers })
}
