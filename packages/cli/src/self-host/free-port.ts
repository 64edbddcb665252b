import { createServer } from 'node:net'

const triesMax = 100

/** The first port from here on that nothing listens at; the given one when all are taken. */
export async function freePortFrom(first: number, host: string): Promise<number> {
  for (let port = first; port < first + triesMax && port < 65_536; port++) if (await isFree(port, host)) return port
  return first
}

async function isFree(port: number, host: string): Promise<boolean> {
  const server = createServer()
  return new Promise((resolve) => {
    server.once('error', () => resolve(false))
    server.listen(port, host, () => server.close(() => resolve(true)))
  })
}
