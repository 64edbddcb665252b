/** The public port behind a balancer that speaks the PROXY protocol: a connection is passed to HTTP once its header is read. */
import type { IncomingMessage, Server as HttpServer, ServerResponse } from 'node:http'
import { createServer, type Server, type Socket } from 'node:net'
import type { NetworkConfig } from '../../config/network.ts'
import { noteRelayed, plainAddress } from './client-address.ts'
import type { Connections } from './connections.ts'
import { parseProxyHeader, type ProxyHeader } from './proxy-protocol.ts'

export class ProxiedConnections {
  readonly server: Server
  readonly #http: HttpServer
  readonly #trustsProxy: NetworkConfig['trustsProxy']
  readonly #connections: Connections
  readonly #open = new Set<Socket>()
  /** Connections with an incomplete header. */
  readonly #waiting = new Set<Socket>()
  #isClosing = false

  constructor(http: HttpServer, trustsProxy: NetworkConfig['trustsProxy'], connections: Connections) {
    this.#http = http
    this.#trustsProxy = trustsProxy
    this.#connections = connections
    // The options that an HTTP server sets for its connections.
    this.server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => this.#accept(socket))
  }

  #accept(socket: Socket): void {
    const address = plainAddress(socket.remoteAddress ?? '') ?? 'unknown'
    // Only the balancer may connect: another peer could write a header with any address, or bypass the balancer.
    if (address === 'unknown' || !this.#trustsProxy(address))
      return this.#connections.refuse(socket, `${address} is not a trusted proxy`)
    this.#open.add(socket)
    this.#waiting.add(socket)
    socket.once('close', () => {
      this.#open.delete(socket)
      this.#waiting.delete(socket)
    })
    // Also ends the connection when header and request do not arrive in time.
    this.#connections.add(socket)
    takeHeader(socket, (header) => {
      this.#waiting.delete(socket)
      // A connection destroyed at a cap or past its deadline may still deliver buffered data.
      if (socket.destroyed) return
      if (header === null) return this.#connections.refuse(socket, `${address} sent no PROXY header`)
      noteRelayed(socket, header.client)
      if (header.client !== null && !this.#connections.relays(socket, header.client)) return
      this.#http.emit('connection', socket)
    })
  }

  /** Bun's HTTP does these only on connections that it accepted itself. */
  carry(request: IncomingMessage, response: ServerResponse): void {
    const { socket } = request
    const push = request.push.bind(request)
    const read = request._read.bind(request)
    request.push = (chunk: Buffer | null, encoding?: BufferEncoding) => {
      const wantsMore = push(chunk, encoding)
      if (!wantsMore && chunk !== null) socket.pause()
      return wantsMore
    }
    request._read = (size: number) => {
      socket.resume()
      read(size)
    }
    response.once('close', () => {
      if (this.#isClosing) this.#http.closeIdleConnections()
    })
  }

  /** Resolves when the last connection has ended. */
  close(): Promise<void> {
    this.#isClosing = true
    const closed = new Promise<void>((resolve) => this.server.close(() => resolve()))
    for (const socket of this.#waiting) socket.destroy()
    return closed
  }

  cut(): void {
    for (const socket of this.#open) socket.destroy()
  }
}

/** Reads the header alone and leaves the bytes after it unread. Null: there is none. */
function takeHeader(socket: Socket, done: (header: ProxyHeader | null) => void): void {
  let bytes: Buffer = Buffer.alloc(0)
  const finish = (header: ProxyHeader | null) => {
    socket.off('readable', read)
    socket.off('end', ended)
    socket.off('error', ignore)
    if (header !== null && bytes.length > header.bytes) socket.unshift(bytes.subarray(header.bytes))
    done(header)
  }
  const read = () => {
    for (let chunk: Buffer | null = socket.read(); chunk !== null; chunk = socket.read()) {
      bytes = Buffer.concat([bytes, chunk])
      try {
        const header = parseProxyHeader(bytes)
        if (header !== null) return finish(header)
      } catch {
        return finish(null)
      }
    }
  }
  const ended = () => finish(null)
  const ignore = () => {}
  socket.on('readable', read)
  socket.on('end', ended)
  socket.on('error', ignore)
}
