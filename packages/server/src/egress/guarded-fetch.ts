/** `fetch` for addresses that a project names: judged, dialled at the very address that was judged, and bounded. */
import { pinnedFetch } from '@svc/git'
import { judgeWebAddress, type WebPolicy } from './web-address.ts'

export interface GuardOptions extends WebPolicy {
  /** Of one answer, streams included. */
  bytesMax: number
  /** Without a byte from the other side. */
  idleMs: number
  /** For callers whose reader of the body keeps its errors to itself. */
  onTooLarge?(error: AnswerTooLarge): void
}

/** The other side said more than it may. */
export class AnswerTooLarge extends Error {}

type Fetch = (url: string | URL, init?: RequestInit) => Promise<Response>

/** Follows no redirect, which would carry the credential along: whoever calls decides what to do with one. */
export function guardedFetch(options: GuardOptions): Fetch {
  return async (input, init = {}) => {
    const url = new URL(input)
    const pin = await judgeWebAddress(url, options)
    return bounded(await pinnedFetch(url, init, { pin, idleMs: options.idleMs }), options)
  }
}

/** What is too large is found out while it is read, not before. */
function bounded(answer: Response, { bytesMax, onTooLarge }: GuardOptions): Response {
  if (answer.body === null) return answer
  let bytes = 0
  const counted = answer.body.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        bytes += chunk.length
        if (bytes <= bytesMax) return controller.enqueue(chunk)
        const error = new AnswerTooLarge(`The answer is larger than ${bytesMax} bytes.`)
        onTooLarge?.(error)
        throw error
      },
    }),
  )
  return new Response(counted, { status: answer.status, headers: answer.headers })
}
