import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { serveGateway, type GatewayOptions } from './gateway.ts'
import type { PushGate } from '../receive/gate.ts'
import type { Repository } from '../repository.ts'
import type { GitRequest } from './smart-http.ts'

export interface GatewayServer {
  url: string
  requests: string[]
  close(): Promise<void>
}

/** An HTTP server around serveGateway, for tests with a real git client. */
export async function serveGatewayOverHttp(
  repo: Repository,
  gate: PushGate,
  options: GatewayOptions = {},
): Promise<GatewayServer> {
  const requests: string[] = []
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '/', 'http://host')
    requests.push(`${request.method} ${url.pathname}${url.search}`)
    const path = /^\/repo\.git\/(info\/refs|git-upload-pack|git-receive-pack)$/.exec(url.pathname)?.[1] as
      | GitRequest['path']
      | undefined
    if (!path) return void response.writeHead(404).end()
    const leaving = new AbortController()
    response.on('close', () => leaving.abort())
    const headers = new Headers(
      Object.entries(request.headers).map(([name, value]): [string, string] => [name, String(value)]),
    )
    const body = Readable.toWeb(request) as unknown as ReadableStream<Uint8Array>
    const asked: GitRequest = {
      method: request.method ?? 'GET',
      path,
      query: url.searchParams,
      headers,
      body,
      signal: leaving.signal,
    }
    serveGateway(repo, asked, gate, options)
      .then(async (answered) => {
        response.writeHead(answered.status, Object.fromEntries(answered.headers))
        if (!answered.body) return void response.end()
        Readable.fromWeb(answered.body as never)
          .on('error', () => response.destroy())
          .pipe(response)
      })
      .catch((error: Error) => response.writeHead(500).end(`${error.stack}\n`))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}/repo.git`,
    requests,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
