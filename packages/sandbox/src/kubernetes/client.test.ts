import { afterAll, expect, test } from 'bun:test'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

import { type ClusterError, createClient } from './client.ts'

/** An API server that closes the connections of the first requests, or answers them like this. */
let first: (number | 'closed')[] = []
let then = 200
const asked: string[] = []
const api = createServer((request, response) => {
  asked.push(`${request.method} ${request.url}`)
  const how = first.shift() ?? then
  if (how === 'closed') return void request.socket.destroy()
  response.writeHead(how, { 'content-type': 'application/json' }).end(JSON.stringify({ message: `answer ${how}` }))
})
await new Promise<void>((resolve) => api.listen(0, '127.0.0.1', resolve))
afterAll(() => void api.close())

const client = createClient({
  server: `http://127.0.0.1:${(api.address() as AddressInfo).port}`,
  ...{ namespace: 'default', tls: {}, headers: async () => ({}), isInside: false },
})

test('a request is repeated while the API server restarts', async () => {
  first = ['closed', 503, 403]
  await client.remove('/pods/one')
  expect(asked.splice(0)).toEqual(Array(4).fill('DELETE /pods/one'))
})

test('what a request made whose answer was lost is not an error of the next one', async () => {
  ;[first, then] = [['closed'], 409]
  await client.json('POST', '/pods', { body: {} })
  expect(asked.splice(0)).toHaveLength(2)
  await expect(client.json('POST', '/pods', { body: {} })).rejects.toThrow('answer 409')
  expect(asked.splice(0)).toHaveLength(1)
})

test('a refusal is final', async () => {
  then = 422
  const refused = await client.find('/pods/one').catch((error: ClusterError) => error)
  expect(refused).toMatchObject({ status: 422, message: 'answer 422' })
  expect(asked.splice(0)).toEqual(['GET /pods/one'])
})
