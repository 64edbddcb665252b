/** A body that a client announces with `Expect: 100-continue` is asked for when its handler reads it. */
import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http'

/** A refusal that needs no body is then the only answer, and arrives: a client that still writes can lose it. */
export function continueWhenRead(server: Server, listener: RequestListener): void {
  server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
    const read = request._read.bind(request)
    request._read = (bytes) => {
      request._read = read
      if (!response.headersSent) response.writeContinue()
      read(bytes)
    }
    listener(request, response)
  })
}
