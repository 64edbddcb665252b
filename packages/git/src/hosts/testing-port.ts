import { createServer } from 'node:net'

/** Outside the ports that systems assign, so that no other connection takes it before its use. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = 10_000 + Math.floor(Math.random() * 22_000)
    const server = createServer()
    const isFree = await new Promise<boolean>((resolve) => {
      server.once('error', () => resolve(false))
      server.listen(port, '127.0.0.1', () => resolve(true))
    })
    if (!isFree) continue
    await new Promise((resolve) => server.close(resolve))
    return port
  }
}
