/**
 * The way out of a sandbox without a network: 127.0.0.1:61080 is piped, connection by connection, to the Unix socket
 * that the server listens on. Raw bytes: HTTP, git and event streams pass alike, and each end may close its half.
 */
import { connect, createServer, type Server, type Socket } from 'node:net'

const connectionsMax = 512

export async function startRelay(options: { port: number; socketPath: string }): Promise<Server> {
  // allowHalfOpen: a client that has said everything still wants its answer.
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
  // A reset on one side is a reset on the other: there is no better word for it in a raw pipe.
  inside.on('error', end)
  outside.on('error', end)
  inside.on('close', () => {
    // Closed in order: what is still on its way out may go.
    if (!inside.readableEnded) outside.destroy()
  })
  outside.on('close', () => {
    if (!outside.readableEnded) inside.destroy()
  })
  // pipe() stops reading when the other side is slow, and passes an end on as an end.
  inside.pipe(outside)
  outside.pipe(inside)
}
