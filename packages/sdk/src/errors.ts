/** The two kinds of failure: the service refused a request, or no answer of the service arrived. */
import { classOfCode, type ErrorCode, ServiceError, statusOfClass } from '@svc/contract/errors'

export { ServiceError }

/**
 * - `unreachable`: no connection, or it broke
 * - `timed_out`: no answer within the time limit
 * - `redirected`: another address answered; a redirect is not followed, since it could carry the token away
 * - `bad_answer`: the answer is not one of this service
 */
export type TransportFailure = 'unreachable' | 'timed_out' | 'redirected' | 'bad_answer'

export class TransportError extends Error {
  readonly failure: TransportFailure
  /** The server that the request was for; empty when the answer does not name it. */
  readonly address: string
  /** For `redirected`, where the redirect points to. */
  readonly location: string | null
  /** For `bad_answer`, its HTTP status. */
  readonly status: number | null
  constructor(
    failure: TransportFailure,
    message: string,
    options: { address: string; location?: string | null; status?: number; cause?: unknown },
  ) {
    super(message, { cause: options.cause })
    this.name = 'TransportError'
    this.failure = failure
    this.address = options.address
    this.location = options.location ?? null
    this.status = options.status ?? null
  }
}

/** The error that the service threw, made again from its answer. */
export function errorOf(response: Response, body: unknown): Error {
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

export function notOurs(response: Response): TransportError {
  const address = new URL(response.url).origin
  return new TransportError('bad_answer', `${address} does not answer like a svc server`, {
    ...{ address, status: response.status },
  })
}

/** A newer server may have narrower codes. Its status still gives the class. */
function knownCode(code: unknown, status: number): ErrorCode {
  if (typeof code === 'string' && (Object.hasOwn(classOfCode, code) || Object.hasOwn(statusOfClass, code)))
    return code as ErrorCode
  const found = Object.entries(statusOfClass).find(([, value]) => value === status)
  return (found?.[0] ?? 'internal') as ErrorCode
}
