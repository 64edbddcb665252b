/**
 * The header by which a request of one server goes on in its trace on another. Only a server can sign it. It is not
 * `traceparent`: whoever sends a request may write that, and it belongs to the program in a sandbox behind it.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'
import type { Deps } from '../deps.ts'
import type { ListenedRequest } from '../http/connections/client-address.ts'
import { removeHeader } from './peer-header.ts'

export const traceHeader = 'x-svc-trace'

/** The headers to send with a request to another server; none without a trace. */
export function traceHeaders({ tracing, keyring }: Pick<Deps, 'tracing' | 'keyring'>): Record<string, string> {
  const traceparent = tracing.traceparent()
  if (traceparent === null) return {}
  return { [traceHeader]: `${traceparent} ${mac(keyOf(keyring), traceparent)}` }
}

/** Records the trace of another server, and removes the header, which nothing behind this server needs. */
export function admitTrace(key: Buffer, request: ListenedRequest): void {
  const value = request.headers[traceHeader]
  if (value === undefined) return
  const traceparent = typeof value === 'string' ? readTrace(key, value) : null
  if (traceparent !== null) request.svcTrace = traceparent
  removeHeader(request, traceHeader)
}

export function keyOf(keyring: Deps['keyring']): Buffer {
  return keyring.derive('traces between servers')
}

function readTrace(key: Buffer, value: string): string | null {
  const [, traceparent = '', given = ''] = /^([0-9a-f-]{55}) ([\w-]{43})$/.exec(value) ?? []
  if (given === '') return null
  return timingSafeEqual(Buffer.from(given), Buffer.from(mac(key, traceparent))) ? traceparent : null
}

function mac(key: Buffer, traceparent: string): string {
  return createHmac('sha256', key).update(traceparent).digest('base64url')
}
