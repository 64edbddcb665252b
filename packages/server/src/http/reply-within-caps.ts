import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response'
import { ServiceError } from '@svc/contract'
import { handledElsewhere } from '../deadline.ts'
import { addressOf } from './connections/client-address.ts'
import type { Connections } from './connections/connections.ts'
import { errorResponse } from './reply-error.ts'
import type { Bindings } from './request-info.ts'

/** The response as it leaves. An event stream counts as a stream of its client until it ends. */
export function replyWithinCaps(
  connections: Connections,
  answer: Response,
  { incoming, outgoing }: Bindings,
): Response {
  // slow-bodies.ts has already answered a body that arrived too slowly.
  if (outgoing?.headersSent === true) return RESPONSE_ALREADY_SENT
  const isStream = answer.headers.get('content-type')?.startsWith('text/event-stream') === true
  if (!isStream || incoming === undefined || outgoing === undefined) return answer
  try {
    connections.beginStream(incoming.socket, addressOf(incoming))
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error
    // Cancelling only releases what the stream holds; the refusal is the answer either way.
    answer.body?.cancel().catch(handledElsewhere)
    return errorResponse(error, answer.headers.get('x-request-id') ?? '')
  }
  outgoing.once('close', () => connections.endStream(incoming.socket))
  return answer
}
