import { afterAll, expect, test } from 'bun:test'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

import { createClient } from './client.ts'
import type { Pod } from './pod.ts'
import { followPods } from './pods.ts'

const pod = { metadata: { name: 'one', resourceVersion: '1' }, spec: {} } as unknown as Pod
let items = [pod]
const open: ServerResponse[] = []
/** It answers lists, and then says nothing more on a watch, as one that another machine has replaced. */
const api = createServer((request, response) => {
  response.writeHead(200, { 'content-type': 'application/json' })
  if (request.url?.includes('watch=true')) return void open.push(response.flushHeaders() ?? response)
  response.end(JSON.stringify({ items, metadata: { resourceVersion: '1' } }))
})
await new Promise<void>((resolve) => api.listen(0, '127.0.0.1', resolve))
afterAll(() => {
  api.closeAllConnections()
  api.close()
})

test('a pod that ends is known within a minute although the API server of the watch fell silent', async () => {
  const client = createClient({
    server: `http://127.0.0.1:${(api.address() as AddressInfo).port}`,
    ...{ namespace: 'default', tls: {}, headers: async () => ({}), isInside: false },
  })
  const pods = followPods(client, '/pods?labelSelector=a', () => {})
  await pods.start()
  const gone = Promise.withResolvers<string>()
  pods.onChange(({ metadata }, isGone) => isGone && gone.resolve(metadata.name))
  items = []
  expect(await gone.promise).toBe('one')
}, 120_000)
