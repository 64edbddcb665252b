/** One sandbox's way out: a small HTTP proxy on a unix socket, which only that sandbox can reach. */
import { createServer, type Server, type Socket } from 'node:net'
import { allowsEgress, type EgressRule } from '@svc/contract'
import { dial, type DialPolicy } from './dial.ts'
import { headBytesMax, parseProxyRequest, type ProxyRequest } from './request-head.ts'

export interface ProxyOptions {
  dial: DialPolicy
  /** What the operator allows at all, and what the project asks for: both have to. */
  operator: readonly EgressRule[] | 'any'
  project: readonly EgressRule[]
  limits?: Partial<ProxyLimits>
  /** `reason` is the sentence the sandbox gets to read. */
  onRefused(refused: { host: string; port: number; reason: string }): void
}

export interface ProxyLimits {
  connectionsMax: number
  headMs: number
  idleMs: number
  /** Both ways together, as long as the sandbox lives. */
  bytesMax: number
}

const usual: ProxyLimits = {
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

/** Not listening yet. `close` of the answer ends every connection too. */
export function createEgressProxy(options: ProxyOptions): { server: Server; close(): Promise<void> } {
  const limits = { ...usual, ...options.limits }
  const open = new Set<Socket>()
  let connections = 0
  let bytes = 0

  const server = createServer({ allowHalfOpen: true, noDelay: true }, (client) => {
    open.add(client)
    client.on('close', () => open.delete(client))
    client.on('error', () => client.destroy())
    connections += 1
    client.once('close', () => (connections -= 1))
    if (connections > limits.connectionsMax) {
      const reason = `More than ${limits.connectionsMax} connections at once leave this sandbox.`
      return refuse(client, { status: '429 Too Many Requests', reason, hint: 'Close some, then try again.' })
    }
    void serve(client).catch(() => client.destroy())
  })

  async function serve(client: Socket): Promise<void> {
    const read = await readHead(client, limits.headMs)
    if (read === null) return void client.destroy()
    const request = parseProxyRequest(read.head)
    if (typeof request === 'string')
      return refuse(client, { status: '400 Bad Request', reason: request, hint: 'Set HTTP_PROXY as you found it.' })
    const blocked = judge(request)
    if (blocked !== null) return refuseHost(client, request, blocked)
    const outcome = await dial(options.dial, request.host, request.port)
    if (outcome.kind === 'closed')
      return refuseHost(client, request, {
        status: '403 Forbidden',
        reason: outcome.reason,
        hint: 'Private addresses cannot be reached from a sandbox.',
      })
    if (outcome.kind === 'failed')
      return refuse(client, { status: '502 Bad Gateway', reason: outcome.reason, hint: 'Try again in a moment.' })
    if (client.destroyed) return void outcome.socket.destroy()
    open.add(outcome.socket)
    outcome.socket.on('close', () => open.delete(outcome.socket))
    join(client, outcome.socket, request, read.rest)
  }

  function judge({ host, port }: ProxyRequest): Refusal | null {
    const at = `${host}:${port}`
    if (options.operator !== 'any' && !allowsEgress(options.operator, host, port))
      return {
        status: '403 Forbidden',
        reason: `${at} is blocked by the operator of this server.`,
        hint: 'Ask them to add it to SVC_EGRESS.',
      }
    if (allowsEgress(options.project, host, port)) return null
    const pattern = port === 443 || port === 80 ? host : at
    return {
      status: '403 Forbidden',
      reason: `${at} is blocked by the project's egress list.`,
      hint: `Add "${pattern}" to egress under [sandbox] in svc.toml, by a change request; sessions started after its merge reach it.`,
    }
  }

  function refuseHost(client: Socket, { host, port }: ProxyRequest, refusal: Refusal): void {
    options.onRefused({ host, port, reason: refusal.reason })
    refuse(client, refusal)
  }

  function join(client: Socket, upstream: Socket, request: ProxyRequest, rest: Buffer): void {
    const end = () => {
      client.destroy()
      upstream.destroy()
    }
    // A timer of our own: the one of a socket does not see what the other half does.
    let lastAt = Date.now()
    const idle = setInterval(() => Date.now() - lastAt > limits.idleMs && end(), Math.min(limits.idleMs, 5000))
    client.once('close', () => clearInterval(idle))
    const count = (chunk: Buffer) => {
      bytes += chunk.length
      lastAt = Date.now()
      if (bytes > limits.bytesMax) end()
    }
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      socket.on('error', end)
      // Closed in order: what is still on its way out may go.
      socket.on('close', () => void (socket.readableEnded || other.destroy()))
      socket.on('data', count)
    }
    if (request.kind === 'tunnel') client.write('HTTP/1.1 200 Connection Established\r\n\r\n')
    else upstream.write(request.head, 'latin1')
    if (rest.length > 0) upstream.write(rest)
    count(rest)
    client.pipe(upstream)
    upstream.pipe(client)
    client.resume()
  }

  return {
    server,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        for (const socket of open) socket.destroy()
      }),
  }
}

/** The head as text and what came after it; null when the client gave up, took too long or said too much. */
function readHead(client: Socket, headMs: number): Promise<{ head: string; rest: Buffer } | null> {
  return new Promise((resolve) => {
    let seen = Buffer.alloc(0)
    const done = (answer: { head: string; rest: Buffer } | null) => {
      clearTimeout(late)
      client.off('data', onData)
      client.off('end', onEnd)
      client.off('close', onEnd)
      // What comes now waits until there is somebody to pass it to.
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

/** Reason and hint are in the body, and again in the status line and a header: most clients throw the body of a refused CONNECT away. */
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
