/** A body that a client announces with `Expect: 100-continue` is asked for when its handler reads it. */
import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http'

const awaited = new WeakSet<IncomingMessage>()

/** Its client sends the body only when it is asked, which it was not yet. */
export const isBodyAwaited = (request: IncomingMessage) => awaited.has(request)

/** A refusal that needs no body is then the only answer, and arrives: a client that still writes can lose it. */
export function continueWhenRead(server: Server, listener: RequestListener): void {
  server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
    const read = request._read.bind(request)
    awaited.add(request)
    request._read = (bytes) => {
      request._read = read
      awaited.delete(request)
      if (!response.headersSent) response.writeContinue()
      read(bytes)
    }
    listener(request, response)
  })
}
