/** The egress of a sandbox: a small HTTP proxy on a unix socket that only this sandbox can reach. */
import { createServer, type Server, type Socket } from 'node:net'
import { allowsEgress, type EgressRule } from '@svc/contract'
import { announceClose } from './announce-close.ts'
import { dial, type DialPolicy } from './dial.ts'
import { headBytesMax, parseProxyRequest, type ProxyRequest } from './request-head.ts'

interface ProxyOptions {
  dial: DialPolicy
  /** The operator's and the project's lists must both allow a host. */
  operator: readonly EgressRule[] | 'any'
  project: readonly EgressRule[]
  limits?: Partial<ProxyLimits>
  /** `reason` is the text that the sandbox receives. */
  onRefused(refused: { host: string; port: number; reason: string }): void
}

export interface ProxyLimits {
  connectionsMax: number
  headMs: number
  idleMs: number
  /** In both directions together, over the life of the sandbox. */
  bytesMax: number
}

const defaultLimits: ProxyLimits = {
  connectionsMax: 128,
  headMs: 15_000,
  idleMs: 10 * 60_000,
  bytesMax: 64 * 1024 ** 3,
}

interface Refusal {
  status: '400 Bad Request' | '403 Forbidden' | '429 Too Many Requests' | '502 Bad Gateway'
  reason: string
  hint: string
}

export class EgressProxy {
  /** Not listening yet. */
  readonly server: Server
  readonly #options: ProxyOptions
  readonly #limits: ProxyLimits
  readonly #open = new Set<Socket>()
  readonly #upstreams = new Map<Socket, ProxyRequest>()
  #project: readonly EgressRule[]
  #connections = 0
  #bytes = 0

  constructor(options: ProxyOptions) {
    this.#options = options
    this.#limits = { ...defaultLimits, ...options.limits }
    this.#project = options.project
    this.server = createServer({ allowHalfOpen: true, noDelay: true }, (client) => this.#accept(client))
  }

  /** Replaces the project's list. Connections to hosts that are no longer allowed end. */
  allow(project: readonly EgressRule[]): void {
    this.#project = project
    for (const [upstream, request] of this.#upstreams) if (this.#check(request) !== null) upstream.destroy()
  }

  /** Also ends all connections. */
  close(): Promise<void> {
    return new Promise((resolve) => {
      this.server.close(() => resolve())
      for (const socket of this.#open) socket.destroy()
    })
  }

  #accept(client: Socket): void {
    this.#open.add(client)
    client.on('close', () => this.#open.delete(client))
    client.on('error', () => client.destroy())
    this.#connections += 1
    client.once('close', () => (this.#connections -= 1))
    const { connectionsMax } = this.#limits
    if (this.#connections > connectionsMax) {
      const reason = `This sandbox has more than ${connectionsMax} outgoing connections.`
      return refuse(client, { status: '429 Too Many Requests', reason, hint: 'Close some, then try again.' })
    }
    void this.#serve(client).catch(() => client.destroy())
  }

  async #serve(client: Socket): Promise<void> {
    const read = await readHead(client, this.#limits.headMs)
    if (read === null) return void client.destroy()
    const request = parseProxyRequest(read.head)
    if (typeof request === 'string')
      return refuse(client, { status: '400 Bad Request', reason: request, hint: 'Restore the original HTTP_PROXY.' })
    const blocked = this.#check(request)
    if (blocked !== null) return this.#refuseHost(client, request, blocked)
    const outcome = await dial(this.#options.dial, request.host, request.port)
    if (outcome.kind === 'closed')
      return this.#refuseHost(client, request, {
        status: '403 Forbidden',
        reason: outcome.reason,
        hint: 'Sandboxes cannot reach private addresses.',
      })
    if (outcome.kind === 'failed')
      return refuse(client, { status: '502 Bad Gateway', reason: outcome.reason, hint: 'Try again in a moment.' })
    // The list may have changed during the lookup.
    const late = this.#check(request)
    if (client.destroyed || late !== null) outcome.socket.destroy()
    if (late !== null) return this.#refuseHost(client, request, late)
    if (client.destroyed) return
    this.#open.add(outcome.socket)
    this.#upstreams.set(outcome.socket, request)
    outcome.socket.on('close', () => {
      this.#open.delete(outcome.socket)
      this.#upstreams.delete(outcome.socket)
    })
    this.#join(client, outcome.socket, request, read.rest)
  }

  #check({ host, port }: ProxyRequest): Refusal | null {
    const at = `${host}:${port}`
    const { operator } = this.#options
    if (operator !== 'any' && !allowsEgress(operator, host, port))
      return {
        status: '403 Forbidden',
        reason: `${at} is blocked by the operator of this server.`,
        hint: 'Ask them to add it to SVC_EGRESS.',
      }
    if (allowsEgress(this.#project, host, port)) return null
    const pattern = port === 443 || port === 80 ? host : at
    return {
      status: '403 Forbidden',
      reason: `${at} is blocked by the project's egress list.`,
      hint: `Add "${pattern}" to egress under [sandbox] in svc.toml with a change request; after its merge, sandboxes can reach it within seconds.`,
    }
  }

  #refuseHost(client: Socket, { host, port }: ProxyRequest, refusal: Refusal): void {
    this.#options.onRefused({ host, port, reason: refusal.reason })
    refuse(client, refusal)
  }

  #join(client: Socket, upstream: Socket, request: ProxyRequest, rest: Buffer): void {
    const { idleMs, bytesMax } = this.#limits
    const end = () => {
      client.destroy()
      upstream.destroy()
    }
    // A timer for both sockets, because a socket's own timeout ignores the other one.
    let lastAt = Date.now()
    const idle = setInterval(() => Date.now() - lastAt > idleMs && end(), Math.min(idleMs, 5000))
    client.once('close', () => clearInterval(idle))
    const count = (chunk: Buffer) => {
      this.#bytes += chunk.length
      lastAt = Date.now()
      if (this.#bytes > bytesMax) end()
    }
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      socket.on('error', end)
      // Let pending data drain after an orderly close.
      socket.on('close', () => void (socket.readableEnded || other.destroy()))
      socket.on('data', count)
    }
    if (request.kind === 'tunnel') client.write('HTTP/1.1 200 Connection Established\r\n\r\n')
    else upstream.write(request.head, 'latin1')
    if (rest.length > 0) upstream.write(rest)
    count(rest)
    client.pipe(upstream)
    if (request.kind === 'tunnel') upstream.pipe(client)
    else upstream.pipe(announceClose()).pipe(client)
    client.resume()
  }
}

/** The request head and the bytes after it. Null when the client closed, timed out or exceeded the limit. */
function readHead(client: Socket, headMs: number): Promise<{ head: string; rest: Buffer } | null> {
  return new Promise((resolve) => {
    let seen = Buffer.alloc(0)
    const done = (answer: { head: string; rest: Buffer } | null) => {
      clearTimeout(late)
      client.off('data', onData)
      client.off('end', onEnd)
      client.off('close', onEnd)
      // Keep further data in the socket until it is piped.
      client.pause()
      resolve(answer)
    }
    const onData = (chunk: Buffer) => {
      const from = Math.max(0, seen.length - 3)
      seen = Buffer.concat([seen, chunk])
      const at = seen.indexOf('\r\n\r\n', from)
      if (at > headBytesMax || (at === -1 && seen.length > headBytesMax)) done(null)
      else if (at !== -1) done({ head: seen.toString('latin1', 0, at), rest: seen.subarray(at + 4) })
    }
    const onEnd = () => done(null)
    const late = setTimeout(onEnd, headMs)
    client.on('data', onData)
    client.on('end', onEnd)
    client.on('close', onEnd)
  })
}

/** The reason is in the body, the status line and a header, because most clients discard the body of a refused CONNECT. */
function refuse(client: Socket, { status, reason, hint }: Refusal): void {
  const body = `svc: ${reason} ${hint}\n`
  const head = [
    `HTTP/1.1 ${status}`,
    'Content-Type: text/plain; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    `X-Svc-Egress: ${reason} ${hint}`,
    'Connection: close',
    '\r\n',
  ].join('\r\n')
  client.resume()
  client.end(head + body)
}
