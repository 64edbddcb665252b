/** Handlers that need node's own request or its raw socket: other origins beside the API's, and connections that upgrade. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'

export interface IngressHandler {
  /** Whether this handler serves the request; then no other handler sees it. */
  takes(request: IncomingMessage, upgrades: boolean): boolean
  request(request: IncomingMessage, response: ServerResponse): Promise<void>
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void>
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
