/**
 * The end of the link at the server: a Unix socket of this machine that leads to the daemon, over one connection that
 * the server keeps. What the sandbox sends back comes over the same connection.
 */
import { chmodSync, rmSync } from 'node:fs'
import { createServer, type Server, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'

import { sealedChannel } from './channel.ts'
import { type ServerIdentity, shakeAsServer } from './handshake.ts'
import { joinSocket, joinStreams } from './join.ts'
import { type BootMessage, readMessage, type SandboxStatus, streamKinds } from './kinds.ts'
import { createMux, LinkError, type Mux } from './mux.ts'

/** Of the server, for one sandbox. */
export interface LinkSockets {
  /** Made here, and removed by `close`. */
  socketPath: string
  relaySocket: string | null
  egressSocket: string | null
}

export interface ServerEndOptions {
  identity: ServerIdentity
  sandboxKey: string
  dial(signal: AbortSignal): Promise<Duplex>
  /** Called once for each time without a connection, except after `close`. */
  lost(error: Error): void
}

/** A sandbox is not trusted: its streams end in sockets of the server. */
const streamsMax = 1100
const reconnectMs = { first: 100, most: 2_000 }
/** How long a request waits for the connection. */
const patienceMs = 10_000
const pingEveryMs = 30_000
const pingMs = 20_000
/** A connection that waited for its sandbox may be dead, which neither end knows. */
const bootPingMs = 3_000

/** Begins to connect. Nothing passes to or from the sockets of the server before `serve`. */
export function openLink(options: ServerEndOptions) {
  const closing = new AbortController()
  let sockets: LinkSockets | null = null
  let listener: Server | null = null
  let link: Mux | null = null
  let waiting = Promise.withResolvers<Mux>()
  // Nobody may wait when the link is closed.
  waiting.promise.catch(ignoreClosing)

  async function connectOnce(): Promise<void> {
    const wire = await options.dial(closing.signal)
    const ended = Promise.withResolvers<Error | null>()
    wire.on('error', () => wire.destroy())
    const giveUp = () => wire.destroy()
    closing.signal.addEventListener('abort', giveUp)
    try {
      if (closing.signal.aborted) throw new LinkError('The link is closed.')
      const { keys, rest } = await shakeAsServer(wire, options.identity, options.sandboxKey)
      const channel = sealedChannel(wire, keys, rest)
      const mux = createMux(channel, { isDialer: true, streamsMax, onStream, onClose: ended.resolve })
      link = mux
      waiting.resolve(mux)
      const timer = setInterval(() => void look(mux), pingEveryMs)
      timer.unref()
      const error = await ended.promise
      clearInterval(timer)
      throw error ?? new LinkError('The connection to the sandbox ended.')
    } finally {
      closing.signal.removeEventListener('abort', giveUp)
      wire.destroy()
    }
  }

  async function look(mux: Mux, ms = pingMs): Promise<void> {
    if (!(await mux.ping(ms))) mux.close(new LinkError('The sandbox does not answer.'))
  }

  async function keep(): Promise<void> {
    let pauseMs = reconnectMs.first
    let isKnown = false
    while (!closing.signal.aborted) {
      try {
        await connectOnce()
      } catch (error) {
        if (link !== null) {
          pauseMs = reconnectMs.first
          isKnown = false
          link = null
          waiting = Promise.withResolvers()
          waiting.promise.catch(ignoreClosing)
        }
        if (!closing.signal.aborted && !isKnown) options.lost(error as Error)
        isKnown = true
      }
      await pause(pauseMs, closing.signal)
      pauseMs = Math.min(2 * pauseMs, reconnectMs.most)
    }
  }

  /** The connection, once it stands. */
  async function standing(ms = patienceMs): Promise<Mux> {
    if (link !== null) return link
    const late = Promise.withResolvers<never>()
    const timer = setTimeout(() => late.reject(new LinkError('The sandbox cannot be reached.')), ms)
    try {
      return await Promise.race([waiting.promise, late.promise])
    } finally {
      clearTimeout(timer)
    }
  }

  function onStream(kind: string, stream: Duplex): void {
    const path =
      kind === streamKinds.relay ? sockets?.relaySocket : kind === streamKinds.egress ? sockets?.egressSocket : null
    if (path == null) return void stream.destroy()
    joinSocket(stream, path)
  }

  async function exchange(mux: Mux, kind: string, message: unknown): Promise<unknown> {
    const stream = mux.open(kind)
    stream.end(message === null ? '' : JSON.stringify(message))
    return readMessage(stream)
  }

  function onClient(client: Socket): void {
    client.on('error', () => client.destroy())
    standing().then(
      (mux) => {
        if (client.destroyed) return
        joinStreams(client, mux.open(streamKinds.daemon))
        client.resume()
      },
      () => client.destroy(),
    )
  }

  const kept = keep()

  return {
    /** Listens for requests to the daemon, and lets the sandbox reach the server. */
    async serve(given: LinkSockets): Promise<void> {
      sockets = given
      listener = createServer({ allowHalfOpen: true, pauseOnConnect: true }, onClient)
      await listenAt(listener, given.socketPath)
    },
    /** Gives a blank sandbox its identity; false when it has one already. */
    async boot(message: BootMessage, ms: number): Promise<boolean> {
      const send = async (mux: Mux) => (await exchange(mux, streamKinds.boot, message)) as { isFirst: boolean }
      const mux = await standing(ms)
      void look(mux, bootPingMs)
      const { isFirst } = await send(mux).catch(async (error: unknown) => {
        if (!mux.isClosed) throw error
        return send(await standing(ms))
      })
      return isFirst
    },
    status: async () => (await exchange(await standing(), streamKinds.status, null)) as SandboxStatus,
    /** Cuts the connection; the next one follows. */
    cut: () => link?.close(),
    async close(): Promise<void> {
      closing.abort()
      waiting.reject(new LinkError('The link is closed.'))
      listener?.close()
      await kept
    },
  }
}

export type Link = ReturnType<typeof openLink>

async function listenAt(listener: Server, path: string): Promise<void> {
  rmSync(path, { force: true })
  await new Promise<void>((resolve, reject) => {
    listener.once('error', reject)
    listener.listen(path, resolve)
  })
  chmodSync(path, 0o600)
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', done)
      resolve()
    }
    const timer = setTimeout(done, ms)
    if (signal.aborted) done()
    else signal.addEventListener('abort', done)
  })
}

/** The rejection is for those who wait, and there may be none. */
function ignoreClosing(): void {}
