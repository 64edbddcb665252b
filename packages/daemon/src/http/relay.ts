/**
 * The network access of a sandbox without a network: pipes each connection on 127.0.0.1:61080 to the Unix socket
 * where the server listens. It copies raw bytes, so HTTP, git, and event streams all pass, and each end can close its
 * half.
 */
import { connect, createServer, type Server, type Socket } from 'node:net'

const connectionsMax = 512

export async function startRelay(options: { port: number; socketPath: string }): Promise<Server> {
  // allowHalfOpen: a client that closed its half still expects the answer.
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (inside) => pipe(inside, options.socketPath))
  server.maxConnections = connectionsMax
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(options.port, '127.0.0.1', resolve)
  })
  return server
}

function pipe(inside: Socket, socketPath: string): void {
  const outside = connect({ path: socketPath, allowHalfOpen: true })
  const end = () => {
    inside.destroy()
    outside.destroy()
  }
  // A raw pipe can only pass on a reset as a reset.
  inside.on('error', end)
  outside.on('error', end)
  inside.on('close', () => {
    // After an orderly close, data still on its way out may pass.
    if (!inside.readableEnded) outside.destroy()
  })
  outside.on('close', () => {
    if (!outside.readableEnded) inside.destroy()
  })
  // pipe() applies backpressure and passes on an orderly end.
  inside.pipe(outside)
  outside.pipe(inside)
}
