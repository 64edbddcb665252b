import { type AddressInfo, connect } from 'node:net'
import { createServer, type Server } from 'node:tls'

/** Passes what comes by TLS to a port without it, as a reverse proxy does. */
export async function terminateTls(
  certified: { key: string; cert: string },
  to: number,
): Promise<{ server: Server; port: number }> {
  const server = createServer(certified, (socket) => {
    const inner = connect(to, '127.0.0.1')
    socket.pipe(inner).pipe(socket)
    socket.on('error', () => inner.destroy())
    inner.on('error', () => socket.destroy())
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  return { server, port: (server.address() as AddressInfo).port }
}
