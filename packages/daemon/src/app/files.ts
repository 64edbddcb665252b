/** Serves a static app's files under the agent's uid, so that no link leads outside what the agent may read. */
import { createReadStream, statSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import sirv from 'sirv'

export async function serveFiles(folder: string, port: number): Promise<void> {
  const notFound = join(folder, '404.html')
  const files = sirv(folder, {
    etag: true,
    onNoMatch(req, res) {
      const page = (req.headers.accept ?? '').includes('text/html')
        ? statSync(notFound, { throwIfNoEntry: false })
        : null
      if (page?.isFile() !== true) {
        res.writeHead(404, { 'content-type': 'text/plain; charset=utf-8' }).end('Not found\n')
        return
      }
      res.writeHead(404, { 'content-type': 'text/html; charset=utf-8' })
      createReadStream(notFound).pipe(res)
    },
    // Deploys replace each other at the same address, so browsers must revalidate.
    setHeaders: (res) => res.setHeader('cache-control', 'no-cache'),
  })
  const server = createServer((req, res) => {
    if (req.method === 'GET' || req.method === 'HEAD') files(req, res)
    else res.writeHead(405, { allow: 'GET, HEAD' }).end()
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, '127.0.0.1', resolve)
  })
  // Keeps the program running for as long as the server does.
  await new Promise(() => {})
}
