import { afterAll, expect, test } from 'bun:test'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

import { poolsOf } from './claims.ts'
import { createClient } from './client.ts'

const removed: string[] = []
const api = createServer((request, response) => {
  const name = request.url!.split('/').at(-1)!.split('?')[0]!
  if (request.method === 'DELETE' && request.url!.includes('sandboxwarmpools')) removed.push(name)
  request.resume()
  response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
})
await new Promise<void>((resolve) => api.listen(0, '127.0.0.1', resolve))
afterAll(() => void api.close())

test('a pool whose pod is still waited for stays, however many kinds of limits start', async () => {
  const client = createClient({
    server: `http://127.0.0.1:${(api.address() as AddressInfo).port}`,
    ...{ namespace: 'default', tls: {}, headers: async () => ({}), isInside: false },
  })
  const pools = poolsOf(client, 'default', 'svc-', {})
  const ensured: string[] = []
  for (let limits = 0; limits < 5; limits++) ensured.push(await pools.ensure({ limits }, {}))
  expect(removed).toEqual([])
  await pools.left(ensured[1]!)
  await pools.left(ensured[0]!)
  expect(removed).toEqual([ensured[1]!, ensured[0]!])
  for (const pool of ensured.slice(2)) await pools.left(pool)
  expect(removed).toHaveLength(2)
})
