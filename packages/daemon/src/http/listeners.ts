/** The daemon's listeners: one router behind a TCP port and a Unix socket. */
import { rmSync } from 'node:fs'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { ListenOptions } from 'node:net'
import type { Duplex } from 'node:stream'

import type { RequestHead } from './access.ts'
import { proxyRequest, proxyUpgrade, type UpgradeUpstream, type Upstream, writeErrorHead } from './proxy.ts'
import { type Lease, watchLease } from './lease.ts'
import { ignoreDisconnects, sendError, toControlError } from './reply.ts'
import { type OwnPorts, type Target, targetOf } from './target.ts'

export interface Addresses {
  tcp: { host: string; port: number } | null
  /** Only the server reaches this one. */
  socketPath: string | null
  /** Ends the sandbox after so long without a request of the server. */
  lease?: Lease | null
}

/** The requests that a daemon answers itself, and the requests and upgrades that it passes to each program. */
interface Routes {
  ports: OwnPorts
  serviceKey: () => string
  control(name: string, req: IncomingMessage, res: ServerResponse, head: RequestHead): Promise<void>
  admit(target: ProxyTarget, head: RequestHead): Promise<Upstream>
  admitUpgrade(target: Target, head: RequestHead): Promise<UpgradeUpstream>
  log: (message: string) => void
}

export type ProxyTarget = Exclude<Target, { kind: 'control' }>

const headOf = (req: IncomingMessage): RequestHead => ({
  method: req.method ?? '',
  path: req.url ?? '',
  rawHeaders: req.rawHeaders,
})

async function onRequest(req: IncomingMessage, res: ServerResponse, routes: Routes): Promise<void> {
  ignoreDisconnects(req, res)
  try {
    const head = headOf(req)
    const target = targetOf(head.path, routes.ports)
    if (target.kind === 'control') await routes.control(target.name, req, res, head)
    else proxyRequest(req, res, await routes.admit(target, head), routes.serviceKey())
  } catch (error) {
    sendError(res, toControlError(error, routes.log))
  }
}

async function onUpgrade(req: IncomingMessage, socket: Duplex, first: Buffer, routes: Routes): Promise<void> {
  socket.on('error', () => socket.destroy())
  try {
    const head = headOf(req)
    const upstream = await routes.admitUpgrade(targetOf(head.path, routes.ports), head)
    proxyUpgrade(req, socket, first, upstream, routes.serviceKey())
  } catch (error) {
    writeErrorHead(socket, toControlError(error, routes.log))
  }
}

export async function openListeners(at: Addresses, routes: Routes): Promise<{ close(): void }> {
  const servers: Server[] = []
  const held = at.lease == null ? null : watchLease(at.lease, routes.log)
  const open = async (options: ListenOptions, used: ((by: ServerResponse | Duplex) => void) | undefined) => {
    const server = createServer({ keepAlive: true }, (req, res) => {
      used?.(res)
      void onRequest(req, res, routes)
    })
    server.on('upgrade', (req: IncomingMessage, socket: Duplex, head: Buffer) => {
      used?.(socket)
      void onUpgrade(req, socket, head, routes)
    })
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
      await open({ path: at.socketPath }, held?.used)
    } finally {
      process.umask(umask)
    }
  }
  if (at.tcp !== null) await open(at.tcp, undefined)
  return {
    close() {
      held?.stop()
      for (const server of servers) {
        server.close()
        server.closeAllConnections()
      }
    },
  }
}
