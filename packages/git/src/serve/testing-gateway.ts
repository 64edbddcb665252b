import { serveGateway, type GatewayOptions } from './gateway.ts'
import type { PushGate } from '../receive/gate.ts'
import type { Repository } from '../repository.ts'
import type { GitRequest } from './smart-http.ts'

export type GatewayServer = Awaited<ReturnType<typeof serveGatewayOverHttp>>

/** An HTTP server around serveGateway, for tests with a real git client. */
export async function serveGatewayOverHttp(repo: Repository, gate: PushGate, options: GatewayOptions = {}) {
  const requests: string[] = []
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    idleTimeout: 0,
    fetch({ method, url, headers, body, signal }) {
      const { pathname, search, searchParams: query } = new URL(url)
      requests.push(`${method} ${pathname}${search}`)
      const path = /^\/repo\.git\/(info\/refs|git-upload-pack|git-receive-pack)$/.exec(pathname)?.[1]
      if (!path) return new Response(null, { status: 404 })
      const asked = { method, path: path as GitRequest['path'], query, headers, body, signal }
      return serveGateway(repo, asked, gate, options)
    },
    error: (error) => new Response(`${error.stack}\n`, { status: 500 }),
  })
  return { url: `http://127.0.0.1:${server.port}/repo.git`, requests, close: () => server.stop(true) }
}
