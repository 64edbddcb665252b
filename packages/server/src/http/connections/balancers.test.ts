/** The balancers of docs/operate/several-servers.md, with the text of that page, in front of a server that is paused. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import { type AddressInfo, createServer as createTcpServer, type Server as TcpServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '@svc/git/testing'
import { until } from '../../testing-until.ts'
import { balancerBlocks, blockOf, findProxy, type Proxy, startProxy } from './testing-proxies.ts'

let dir: string
let healthy: Server
/** The kernel accepts connections for a paused process. */
let paused: TcpServer
let reached = 0
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'svc-balancers-'))
  healthy = createServer(
    (request, response) =>
      void request.resume().on('end', () => {
        // Git is answered after the time that the API has, and before its own.
        setTimeout(() => response.end('healthy'), request.url?.includes('/git/') === true ? 3_000 : 0)
      }),
  )
  paused = createTcpServer((socket) => {
    reached++
    socket.on('error', () => {}).resume()
  })
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
      const shown = (name === 'nginx' ? blockOf('nginx-balanced') : balancerBlocks('caddyfile')[0]!)
        .replace(/10\.0\.0\.[79]:8420/g, () => `127.0.0.1:${portOf(healthy)}`)
        .replace('10.0.0.8:8420', `127.0.0.1:${portOf(paused)}`)
        .replaceAll('svc-previews.example', 'preview.example.com')
        .replaceAll('3m', name === 'nginx' ? '6s' : '3s')
        .replaceAll('100s', '2s')
      proxy = await startProxy(name, { dir: join(dir, name), port, upstream: 1, shown })
    }, 120_000)
    afterAll(() => proxy?.close())

    const ask = async (method: string, { path = '/v1/projects', msMax = 20_000 } = {}) => {
      const answer = await fetch(`https://127.0.0.1:${port}${path}`, {
        method,
        headers: { host: 'svc.example.com' },
        tls: { rejectUnauthorized: false, serverName: 'svc.example.com' },
        signal: AbortSignal.timeout(msMax),
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
    }, 120_000)

    test.if(name === 'nginx')(
      'takes a paused server out by clients that give up sooner than git does',
      async () => {
        // Between both limits, as the two minutes of the client are.
        const batch = () => Promise.all(Array.from({ length: 6 }, () => ask('GET', { msMax: 4_000 })))
        const before = reached
        await until('a request has reached the paused server', async () => {
          expect([...new Set(await batch())]).toEqual([200])
          return reached > before
        })
        const known = reached
        expect([...new Set(await batch()), reached]).toEqual([200, known])
      },
      120_000,
    )

    test.if(name === 'nginx')(
      'leaves git more time than the API',
      async () => {
        expect(await ask('GET', { path: '/v1/projects/web/git/info/refs' })).toBe(200)
      },
      120_000,
    )
  })
