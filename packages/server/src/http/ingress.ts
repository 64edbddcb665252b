/** Handlers that need node's own request or its raw socket: other origins beside the API's, and connections that upgrade. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import type { ListenedRequest } from './connections/client-address.ts'

export interface IngressHandler {
  /** Whether this handler serves the request; then no other handler sees it. */
  takes(request: IncomingMessage, upgrades: boolean): boolean
  request(request: IncomingMessage, response: ServerResponse): Promise<void>
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void>
}

/** Passes requests to the servers that have to answer them, where several share a database. */
export interface Forwarder {
  /** What another server states about the request that it forwards. Null: the request comes from outside. */
  admit(request: IncomingMessage): Forwarded | null
  /** Whether its handler answers other servers only, and judges them itself. */
  isForServers(request: IncomingMessage): boolean
  /** Resolves with true when another server answers. Null: this one does, and at once. */
  request(request: ListenedRequest, response: ServerResponse): Promise<boolean> | null
  upgrade(request: ListenedRequest, socket: Duplex, head: Buffer): Promise<boolean> | null
}

/** The client behind a forwarded request. */
export interface Forwarded {
  address: string
  fromSandbox: boolean
}

/** Writes a whole response to a raw socket and ends it. */
export async function writeResponse(socket: Duplex, response: Response): Promise<void> {
  const body = Buffer.from(await response.arrayBuffer())
  const lines = [`HTTP/1.1 ${response.status} ${response.statusText || 'Answer'}`]
  response.headers.forEach((value, name) => {
    if (name !== 'content-length' && name !== 'connection' && name !== 'transfer-encoding')
      lines.push(`${name}: ${value}`)
  })
  lines.push(`content-length: ${body.length}`, 'connection: close', '', '')
  socket.write(lines.join('\r\n'), 'latin1')
  socket.end(body)
}
