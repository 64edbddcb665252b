import { afterEach, expect, test } from 'bun:test'
import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { passRequest } from './pass.ts'

const servers: Server[] = []
afterEach(() => {
  for (const server of servers.splice(0)) server.close()
})

async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener)
  servers.push(server)
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

test.each([
  ['of the API, which changes nothing,', true, 2],
  ['of a program of the project', false, 1],
] as const)('a read %s whose answer is cut', async (_what, mayRepeat, asked) => {
  let count = 0
  const peerUrl = await serve((_request, response) => {
    count++
    response.writeHead(200, { 'content-length': '10' })
    response.write('half')
    setImmediate(() => response.destroy())
  })
  const passed = { peerUrl, trust: null, signature: 'signed', trace: {}, began() {}, mayRepeat }
  const outcome = Promise.withResolvers<unknown>()
  const url = await serve((request, response) => {
    const { signal } = new AbortController()
    passRequest(request, response, { ...passed, signal }).then(outcome.resolve, outcome.reject)
  })
  await expect(fetch(url).then((answer) => answer.text())).rejects.toThrow()
  expect([await outcome.promise, count]).toEqual([null, asked])
})
