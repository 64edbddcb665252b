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
    // CONNECT asks for a tunnel to a name of the caller's choosing.
    server.on('connect', (_req, socket: Duplex) => socket.destroy())
    server.on('clientError', (_error, socket) => {
      if (socket.writable) socket.end('HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n')
    })
    // Event streams and uploads last as long as they last.
    server.requestTimeout = 0
    server.keepAliveTimeout = 65_000
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject)
      server.listen(options, resolve)
    })
    servers.push(server)
  }
  if (at.socketPath !== null) {
    // One left by a predecessor would refuse the bind.
    rmSync(at.socketPath, { force: true })
    // Made for the daemon's uid alone: the agent has the port, where every call is judged alike, but no second door.
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
