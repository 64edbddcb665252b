/** The daemon's listeners: one handler behind a TCP port and a Unix socket. */
import { rmSync } from 'node:fs'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { ListenOptions } from 'node:net'
import type { Duplex } from 'node:stream'

export interface Addresses {
  tcp: { host: string; port: number } | null
  socketPath: string | null
}

export interface Listeners {
  servers: Server[]
  close(): void
}

export async function openListeners(
  at: Addresses,
  answer: {
    request(req: IncomingMessage, res: ServerResponse): Promise<void>
    upgrade(req: IncomingMessage, socket: Duplex, head: Buffer): Promise<void>
  },
): Promise<Listeners> {
  const servers: Server[] = []
  const open = async (options: ListenOptions) => {
    const server = createServer({ keepAlive: true }, (req, res) => void answer.request(req, res))
    server.on('upgrade', (req: IncomingMessage, socket: Duplex, head: Buffer) => void answer.upgrade(req, socket, head))
    // CONNECT would open a tunnel to any host name.
    server.on('connect', (_req, socket: Duplex) => socket.destroy())
    server.on('clientError', (_error, socket) => {
      if (socket.writable) socket.end('HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n')
    })
    // Event streams and uploads have no time limit.
    server.requestTimeout = 0
    server.keepAliveTimeout = 65_000
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject)
      server.listen(options, resolve)
    })
    servers.push(server)
  }
  if (at.socketPath !== null) {
    // A socket file left by an earlier daemon would make the bind fail.
    rmSync(at.socketPath, { force: true })
    // Only the daemon's uid may connect. The agent uses the TCP port, where every request is authenticated.
    const umask = process.umask(0o177)
    try {
      await open({ path: at.socketPath })
    } finally {
      process.umask(umask)
    }
  }
  if (at.tcp !== null) await open(at.tcp)
  return {
    servers,
    close() {
      for (const server of servers) {
        server.close()
        server.closeAllConnections()
      }
    },
  }
}
