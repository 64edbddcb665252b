/** The end of the link inside a sandbox, in its PID 1. The sandbox only listens: it never dials out. */
import { chmodSync, mkdirSync, rmSync } from 'node:fs'
import { createServer, type Server, type Socket } from 'node:net'
import { join } from 'node:path'
import type { Duplex } from 'node:stream'

import { sealedChannel } from './channel.ts'
import { sandboxIdentity, shakeAsSandbox } from './handshake.ts'
import { joinSocket, joinStreams } from './join.ts'
import { type BootMessage, readMessage, type SandboxStatus, streamKinds } from './kinds.ts'
import { createMux, type Mux } from './mux.ts'

export interface SandboxEndOptions {
  port: number
  /** The public key of the server. */
  serverKey: string
  /** The folder of the sockets. */
  runDir: string
  status: () => Omit<SandboxStatus, 'isBooted'>
  log: (message: string) => void
}

/** Everything in the sandbox may connect to the port, so callers that have not identified themselves are few. */
const unknownMax = 16
const streamsMax = 1024
/** A request may arrive while the daemon starts. It is held here, so that its answer costs no second way. */
const daemonMs = 10_000

export async function serveLink(options: SandboxEndOptions) {
  const identity = sandboxIdentity()
  const booted = Promise.withResolvers<BootMessage>()
  const daemonSocket = join(options.runDir, 'daemon.sock')
  const unknown = new Set<Socket>()
  let message: BootMessage | null = null
  let isTaken = false
  let link: Mux | null = null
  const relays = new Map<string, Server>()
  // A blank sandbox has time for that. Programs without this end do not load it.
  const filtering = import('./seccomp.ts')

  function onConnection(socket: Socket): void {
    unknown.add(socket)
    socket.on('error', () => socket.destroy())
    socket.once('close', () => unknown.delete(socket))
    if (unknown.size > unknownMax) [...unknown][0]!.destroy()
    shakeAsSandbox(socket, identity, options.serverKey).then(
      ({ keys, rest }) => {
        unknown.delete(socket)
        // The server has connected again, perhaps before this end knows that the earlier connection is lost.
        link?.close()
        const channel = sealedChannel(socket, keys, rest)
        const made = createMux(channel, { isDialer: false, streamsMax, onStream, onClose: () => lost(made) })
        link = made
        openRelays()
      },
      (error: Error) => {
        socket.destroy()
        options.log(error.message)
      },
    )
  }

  function lost(mux: Mux): void {
    if (link !== mux) return
    link = null
    closeRelays()
  }

  function onStream(kind: string, stream: Duplex): void {
    if (kind === streamKinds.daemon) return joinSocket(stream, daemonSocket, daemonMs)
    if (kind === streamKinds.status)
      return void stream.resume().end(JSON.stringify({ ...options.status(), isBooted: isTaken }))
    if (kind === streamKinds.boot) return void boot(stream)
    stream.destroy()
  }

  async function boot(stream: Duplex): Promise<void> {
    try {
      const given = (await readMessage(stream)) as BootMessage
      // Once: what runs in the sandbox belongs to this identity.
      const isFirst = !isTaken
      isTaken = true
      if (isFirst) {
        await prepare(given)
        message = given
        openRelays()
        booted.resolve(given)
      }
      stream.end(JSON.stringify({ isFirst }))
    } catch (error) {
      options.log(`the sandbox got no identity: ${String(error)}`)
      stream.destroy()
    }
  }

  /** Before anything of the project runs. */
  async function prepare({ modes = {}, filters }: BootMessage): Promise<void> {
    for (const [folder, mode] of Object.entries(modes)) chmodSync(folder, mode)
    if (filters === undefined) return
    const { filterSystemCalls } = await filtering
    filterSystemCalls(Buffer.from(filters[process.arch] ?? '', 'base64'))
  }

  /**
   * Listening only while the link stands: the daemon's relay then waits for the next connection, as it does for a
   * server that restarts.
   */
  function openRelays(): void {
    if (link === null) return
    for (const kind of message?.relays ?? []) {
      if (relays.has(kind)) continue
      const folder = join(options.runDir, kind)
      const path = join(folder, `${kind}.sock`)
      mkdirSync(folder, { recursive: true, mode: 0o755 })
      rmSync(path, { force: true })
      const server = createServer({ allowHalfOpen: true, pauseOnConnect: true }, (inside) => toServer(kind, inside))
      server.on('error', (error) => options.log(`the relay cannot listen: ${error.message}`))
      server.listen(path, () => chmodSync(path, 0o600))
      relays.set(kind, server)
    }
  }

  function closeRelays(): void {
    for (const server of relays.values()) server.close()
    relays.clear()
  }

  function toServer(kind: string, inside: Socket): void {
    inside.on('error', () => inside.destroy())
    if (link === null) return void inside.destroy()
    joinStreams(inside, link.open(kind))
    inside.resume()
  }

  const listener = createServer({ allowHalfOpen: true, noDelay: true, keepAlive: true }, onConnection)
  await new Promise<void>((resolve, reject) => {
    listener.once('error', reject)
    listener.listen(options.port, resolve)
  })
  return {
    publicKey: identity.publicKey,
    port: (listener.address() as { port: number }).port,
    booted: booted.promise,
    close() {
      listener.close()
      for (const socket of unknown) socket.destroy()
      link?.close()
      closeRelays()
    },
  }
}
