/**
 * The network access of a sandbox without a network: pipes each connection on 127.0.0.1:61080 to the Unix socket
 * where the server listens. It copies raw bytes, so HTTP, git, and event streams all pass, and each end can close its
 * half. While no server listens, a connection waits for the next one.
 */
import { connect, createServer, type Server, type Socket } from 'node:net'

import { joinStreams } from '@svc/link'

const connectionsMax = 512
/** A server that restarts is back in seconds, an upgrade in a minute. */
const serverAbsentMs = 120_000
const retryMs = 100

export async function startRelay(options: {
  port: number
  socketPath: string
  /** How long a connection waits for a server. */
  waitMs?: number
}): Promise<Server> {
  // allowHalfOpen: a client that closed its half still expects the answer.
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (inside) =>
    pipe(inside, { waitMs: serverAbsentMs, ...options }),
  )
  server.maxConnections = connectionsMax
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(options.port, '127.0.0.1', resolve)
  })
  return server
}

function pipe(inside: Socket, options: { socketPath: string; waitMs: number }): void {
  // Nothing is read from the program before a server answers, so an attempt that failed has lost nothing.
  inside.pause()
  const connecting = new AbortController()
  inside.once('close', () => connecting.abort())
  inside.on('error', () => inside.destroy())
  void reach(options, connecting.signal).then((outside) => {
    if (outside === null) inside.destroy()
    else joinStreams(inside, outside)
  })
}

/** The connection, or null after too long without a server. */
async function reach(
  { socketPath, waitMs }: { socketPath: string; waitMs: number },
  signal: AbortSignal,
): Promise<Socket | null> {
  const deadline = Date.now() + waitMs
  while (!signal.aborted && Date.now() < deadline) {
    const outside = await attempt(socketPath)
    if (outside !== null && !signal.aborted) return outside
    outside?.destroy()
    await new Promise((again) => setTimeout(again, retryMs))
  }
  return null
}

function attempt(socketPath: string): Promise<Socket | null> {
  return new Promise((resolve) => {
    const outside = connect({ path: socketPath, allowHalfOpen: true })
    outside.once('connect', () => resolve(outside))
    outside.once('error', () => resolve(null))
  })
}
