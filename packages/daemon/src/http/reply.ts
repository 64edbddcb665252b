/** Replies of the daemon itself, with errors in the service's common shape. */
import type { IncomingMessage, ServerResponse } from 'node:http'

import { sizeText } from '@svc/contract/schemas/quotas'

export class ControlError extends Error {
  readonly status: number
  readonly code: string
  readonly hint: string | null
  readonly headers: Record<string, string>
  constructor(
    status: number,
    code: string,
    message: string,
    options: { hint?: string; headers?: Record<string, string>; cause?: unknown } = {},
  ) {
    super(message, { cause: options.cause })
    this.name = 'ControlError'
    this.status = status
    this.code = code
    this.hint = options.hint ?? null
    this.headers = options.headers ?? {}
  }

  body(): { error: string; code: string; hint?: string } {
    return { error: this.message, code: this.code, ...(this.hint === null ? {} : { hint: this.hint }) }
  }
}

export const unauthenticated = (reason: string) =>
  new ControlError(401, 'unauthenticated', reason, {
    hint: 'Send the request through the service, which signs it, or authenticate with the sandbox service key.',
  })

export const runtimeBooting = (retryAfterSeconds = 1) =>
  new ControlError(503, 'runtime_booting', 'The agent runtime is still starting.', {
    headers: { 'retry-after': String(retryAfterSeconds) },
  })

export function sendJson(
  res: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): void {
  if (res.headersSent) {
    // Part of the answer is already sent; only a cut connection shows that it is incomplete.
    res.destroy()
    return
  }
  const text = JSON.stringify(body)
  res.writeHead(status, {
    'content-type': 'application/json',
    'content-length': String(Buffer.byteLength(text)),
    'cache-control': 'no-store',
    ...headers,
  })
  res.end(text)
}

/** Logs an unexpected error and hides it from the caller. */
export function toControlError(error: unknown, log: (message: string) => void): ControlError {
  if (error instanceof ControlError) return error
  log(`a request failed: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`)
  return new ControlError(500, 'internal', 'The daemon could not handle the request.', { cause: error })
}

/** A client that disconnects causes an `error` event, and there is no client left to answer. */
export function ignoreDisconnects(req: IncomingMessage, res: ServerResponse): void {
  req.on('error', () => {})
  res.on('error', () => {})
}

export function sendError(res: ServerResponse, error: ControlError): void {
  sendJson(res, error.status, error.body(), { ...error.headers, 'x-svc-error': error.code })
}

const bodyBytesMax = 1024 * 1024

export async function readJson(req: IncomingMessage, bytesMax = bodyBytesMax): Promise<Record<string, unknown>> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of req as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > bytesMax) throw new ControlError(413, 'too_large', `The body is larger than ${sizeText(bytesMax)}.`)
    chunks.push(chunk)
  }
  const text = Buffer.concat(chunks).toString('utf8')
  let value: unknown
  try {
    value = text.trim() === '' ? {} : JSON.parse(text)
  } catch (cause) {
    throw new ControlError(400, 'invalid', 'The body is not valid JSON.', { cause })
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new ControlError(400, 'invalid', 'The body is not a JSON object.')
  }
  return value as Record<string, unknown>
}
