/** Cuts a request whose body stalls or trickles. Time in which the server itself does not read never counts. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { errorStatus, ServiceError } from '@svc/contract'
import type { NetworkLimits } from '../../config/network.ts'

interface Body {
  request: IncomingMessage
  response: ServerResponse
  bytes: number
  /** How long the server has waited for this body: in total, and since its last byte. */
  waitedMs: number
  idleMs: number
}

export class SlowBodies {
  readonly #limits: Pick<NetworkLimits, 'bodyIdleMs' | 'bodyBytesPerSecond'>
  /** A connection carries one request at a time. */
  readonly #bodies = new Map<Socket, Body>()
  /** Connections with a close listener. */
  readonly #seen = new WeakSet<Socket>()
  #timer: ReturnType<typeof setInterval> | null = null

  constructor(limits: Pick<NetworkLimits, 'bodyIdleMs' | 'bodyBytesPerSecond'>) {
    this.#limits = limits
  }

  watch(request: IncomingMessage, response: ServerResponse): void {
    const { socket, headers } = request
    // The previous request on this connection has ended.
    this.#bodies.delete(socket)
    if (headers['transfer-encoding'] === undefined && Number(headers['content-length'] ?? 0) === 0) return
    const body: Body = { request, response, bytes: 0, waitedMs: 0, idleMs: 0 }
    this.#bodies.set(socket, body)
    if (!this.#seen.has(socket)) {
      this.#seen.add(socket)
      socket.once('close', () => this.#bodies.delete(socket))
    }
    // Bun counts no `bytesRead` on these sockets, and a `data` listener would start the flow before the handler reads.
    const push = request.push.bind(request)
    request.push = (chunk: Buffer | null, encoding?: BufferEncoding) => {
      if (chunk === null) this.#forget(socket, body)
      else body.bytes += chunk.length
      body.idleMs = 0
      return push(chunk, encoding)
    }
    this.#run()
  }

  #run(): void {
    if (this.#timer !== null) return
    const everyMs = Math.max(10, Math.min(1000, this.#limits.bodyIdleMs / 10))
    this.#timer = setInterval(() => this.#tick(everyMs), everyMs)
    this.#timer.unref()
  }

  #tick(passedMs: number): void {
    if (this.#bodies.size === 0 && this.#timer !== null) {
      clearInterval(this.#timer)
      this.#timer = null
    }
    for (const [socket, body] of this.#bodies) {
      if (!isClientsTurn(body)) continue
      body.waitedMs += passedMs
      body.idleMs += passedMs
      if (this.#isSlow(body)) this.#cut(socket, body)
    }
  }

  #isSlow({ bytes, waitedMs, idleMs }: Body): boolean {
    const { bodyIdleMs, bodyBytesPerSecond } = this.#limits
    if (idleMs >= bodyIdleMs) return true
    return bodyBytesPerSecond > 0 && waitedMs >= bodyIdleMs + (bytes / bodyBytesPerSecond) * 1000
  }

  #forget(socket: Socket, body: Body): void {
    if (this.#bodies.get(socket) === body) this.#bodies.delete(socket)
  }

  #cut(socket: Socket, body: Body): void {
    this.#bodies.delete(socket)
    const end = () => {
      // Before the socket: otherwise Bun ends the request as if it were whole, and its handler waits for ever.
      body.request.destroy(new Error('The request body arrived too slowly.'))
      socket.destroy()
    }
    if (body.response.headersSent) return end()
    const error = requestTimeout()
    body.response.writeHead(errorStatus(error.code), {
      'content-type': 'application/json; charset=utf-8',
      connection: 'close',
    })
    body.response.end(JSON.stringify(error.toBody()), end)
  }
}

export function requestTimeout(): ServiceError {
  return new ServiceError('request_timeout', 'The request body arrived too slowly.', {
    hint: 'Send it again over a faster connection.',
  })
}

/** Either the handler has read everything received and waits, or it has answered and the rest of the body is left. */
function isClientsTurn({ request, response }: Body): boolean {
  if (response.writableFinished) return true
  return request.readableFlowing !== null && request.readableLength === 0
}
