/** The balancers of docs/operate/several-servers.md, with the text of that page, in front of a server that is paused. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import { type AddressInfo, createServer as createTcpServer, type Server as TcpServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '@svc/git/testing'
import { blockOf, findProxy, type Proxy, startProxy } from './testing-proxies.ts'

const page = readFileSync(join(import.meta.dir, '../../../../../docs/operate/several-servers.md'), 'utf8')
const blocks = (language: string) =>
  [...page.matchAll(new RegExp(`\`\`\`${language}\\n([\\s\\S]*?)\`\`\``, 'g'))].map(([, text]) => text!)

/** The upstreams above the server, whose lines the second block replaces. */
function nginxOfPage(): string {
  const [upstreams, lines] = blocks('nginx') as [string, string]
  const rest = blockOf('nginx').replace(/^ *proxy_(pass|read_timeout) .*\n/gm, '')
  return upstreams + rest.replace('location / {', `location / {\n${lines}`)
}

let dir: string
let healthy: Server
/** The kernel accepts connections for a paused process. */
let paused: TcpServer
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'svc-balancers-'))
  healthy = createServer((request, response) => void request.resume().on('end', () => response.end('healthy')))
  paused = createTcpServer((socket) => void socket.on('error', () => {}).resume())
  for (const each of [healthy, paused])
    await new Promise<void>((resolve) => void each.listen(0, '127.0.0.1', () => resolve()))
})
afterAll(async () => {
  for (const each of [healthy, paused]) each.close()
  await rm(dir, { recursive: true })
})

const portOf = (server: Server | TcpServer) => (server.address() as AddressInfo).port

for (const name of ['nginx', 'caddy'] as const)
  describe.skipIf(findProxy(name) === null)(name, () => {
    let proxy: Proxy
    let port: number
    beforeAll(async () => {
      port = await freePort()
      const shown = (name === 'nginx' ? nginxOfPage() : blocks('caddyfile')[0]!)
        .replace(/10\.0\.0\.[79]:8420/g, () => `127.0.0.1:${portOf(healthy)}`)
        .replace('10.0.0.8:8420', `127.0.0.1:${portOf(paused)}`)
        .replaceAll('svc-previews.example', 'preview.example.com')
        .replaceAll('3m', '3s')
      proxy = await startProxy(name, { dir: join(dir, name), port, upstream: 1, shown })
    }, 60_000)
    afterAll(() => proxy?.close())

    const ask = async (method: string) => {
      const answer = await fetch(`https://127.0.0.1:${port}/v1/projects`, {
        method,
        headers: { host: 'svc.example.com' },
        tls: { rejectUnauthorized: false, serverName: 'svc.example.com' },
        signal: AbortSignal.timeout(20_000),
        ...(method === 'POST' ? { body: '{}' } : {}),
      } as RequestInit)
      await answer.text()
      return answer.status
    }

    test('answers every request beside a paused server, and most by a healthy one', async () => {
      const statuses = await Promise.all(Array.from({ length: 12 }, (_, at) => ask(at % 2 === 0 ? 'GET' : 'POST')))
      expect([...new Set(statuses)].filter((status) => status !== 200 && status !== 504)).toEqual([])
      expect(statuses.filter((status) => status === 200).length).toBeGreaterThan(4)
      // Once it is known, nothing waits for it.
      if (name === 'caddy')
        expect(await Promise.all(Array.from({ length: 6 }, () => ask('GET')))).toEqual(
          Array.from({ length: 6 }, () => 200),
        )
    }, 60_000)
  })
