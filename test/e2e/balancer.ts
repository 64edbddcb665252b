/** A load balancer as simple as they come: it sends each request, and each upgrade, to a random one of its servers. */
import { createServer, type IncomingMessage, request as httpRequest } from 'node:http'
import { connect } from 'node:net'
import type { Duplex } from 'node:stream'

export interface Balancer {
  url: string
  /** How many requests each server got. */
  counts: number[]
  /** Chooses among these from now on. */
  servers: string[]
  /** Whether it takes requests for that host. */
  takes: (host: string) => boolean
  /** Called with the server that a request goes to. */
  onChoice: ((request: IncomingMessage, server: string) => void) | null
  close(): Promise<void>
}

export async function startBalancer(): Promise<Balancer> {
  const balancer: Balancer = {
    ...{ url: '', counts: [], servers: [], takes: () => true, onChoice: null },
    close: async () => {},
  }
  const choose = (request: IncomingMessage) => {
    const index = Math.floor(Math.random() * balancer.servers.length)
    balancer.counts[index] = (balancer.counts[index] ?? 0) + 1
    const chosen = balancer.servers[index]!
    balancer.onChoice?.(request, chosen)
    return new URL(chosen)
  }
  const server = createServer((request, response) => {
    if (!balancer.takes(request.headers.host ?? '')) return void response.writeHead(404).end()
    if (balancer.servers.length === 0) return void response.writeHead(503).end()
    const { hostname, port } = choose(request)
    const headers = { ...request.headers, 'x-forwarded-for': request.socket.remoteAddress ?? '' }
    const out = httpRequest(
      { host: hostname, port, method: request.method, path: request.url, headers, setHost: false, agent: false },
      (answer) => {
        response.writeHead(answer.statusCode ?? 502, answer.headers)
        response.flushHeaders()
        answer.pipe(response)
        answer.on('error', () => response.destroy())
      },
    )
    out.on('error', () => (response.headersSent ? response.destroy() : response.writeHead(502).end()))
    response.on('close', () => out.destroy())
    request.pipe(out)
  })
  server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    const { hostname, port } = choose(request)
    const upstream = connect({ host: hostname, port: Number(port) })
    const lines = []
    for (let i = 0; i < request.rawHeaders.length; i += 2)
      lines.push(`${request.rawHeaders[i]}: ${request.rawHeaders[i + 1]}`)
    upstream.write(`${request.method} ${request.url} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`)
    upstream.write(head)
    upstream.pipe(socket).pipe(upstream)
    for (const each of [upstream, socket]) each.on('error', () => each.destroy())
    upstream.on('close', () => socket.destroy())
    socket.on('close', () => upstream.destroy())
  })
  await new Promise<void>((resolve) => server.listen({ host: '127.0.0.1', port: 0 }, resolve))
  balancer.url = `http://127.0.0.1:${(server.address() as { port: number }).port}`
  balancer.close = async () => {
    server.closeAllConnections()
    await new Promise<void>((resolve) => server.close(() => resolve()))
  }
  return balancer
}
