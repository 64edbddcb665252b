/** Both ends of a link on this machine, for tests. */
import { mkdirSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { serverIdentity } from './handshake.ts'
import { serveLink } from './sandbox-end.ts'
import { openLink, type ServerEndOptions } from './server-end.ts'

export const testServer = serverIdentity(Buffer.alloc(32, 7))

export function dialPort(port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true }, () => resolve(socket))
    socket.once('error', reject)
  })
}

export async function listenAt(path: string, onConnection: (socket: Socket) => void): Promise<Server> {
  const server = createServer({ allowHalfOpen: true }, onConnection)
  await new Promise<void>((resolve) => server.listen(path, resolve))
  return server
}

/** Programs at each end: the daemon's socket, the server's relay. Gives the folders of both. */
export async function testLink(
  programs: { daemon?: (socket: Socket) => void; relay?: (socket: Socket) => void },
  options: Partial<ServerEndOptions> = {},
) {
  const folder = await mkdtemp(join(tmpdir(), 'svc-link-'))
  const inside = join(folder, 'inside')
  mkdirSync(inside)
  const relaySocket = join(folder, 'relay.sock')
  const socketPath = join(folder, 'daemon.sock')
  const sandbox = await serveLink({
    port: 0,
    serverKey: testServer.publicKey,
    runDir: inside,
    status: () => ({ memoryKills: 0 }),
    log: () => {},
  })
  const servers = [
    await listenAt(join(inside, 'daemon.sock'), programs.daemon ?? ((socket) => socket.end())),
    await listenAt(relaySocket, programs.relay ?? ((socket) => socket.end())),
  ]
  const errors: string[] = []
  const link = openLink({
    ...{ identity: testServer, sandboxKey: sandbox.publicKey, dial: () => dialPort(sandbox.port) },
    lost: (error) => errors.push(error.message),
    ...options,
  })
  await link.serve({ socketPath, relaySocket, egressSocket: null })
  return {
    link,
    sandbox,
    /** The server's end. */
    socketPath,
    relaySocket,
    /** The sandbox's end, once it has booted. */
    relayInside: join(inside, 'relay', 'relay.sock'),
    inside,
    errors,
    boot: () => link.boot({ env: { NAME: 'value' }, args: [], relays: ['relay'] }, 10_000),
    async close() {
      await link.close()
      sandbox.close()
      for (const server of servers) server.close()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

export async function until(what: string, look: () => boolean | Promise<boolean>, ms = 30_000): Promise<void> {
  const deadline = Date.now() + ms
  while (!(await look())) {
    if (Date.now() > deadline) throw new Error(`Timed out after ${ms} ms waiting for: ${what}`)
    await Bun.sleep(2)
  }
}
