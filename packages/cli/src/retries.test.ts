/** The requests that the client sends again after the connection broke, counted by a server. */
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { expect, test } from 'bun:test'
import { aSession, ids, svc, token } from './testing.ts'

interface Sent {
  method: string
  path: string
  key: string | undefined
  body: string
}

/** Reads every request to its end. Drops the connection of the first `drops` POSTs; answers the others with `body`. */
async function startBreakingServer({ drops, body }: { drops: number; body: unknown }) {
  const posts: Sent[] = []
  const server = createServer((request, response) => {
    void readWhole(request).then((sent) => {
      if (sent.method === 'POST') posts.push(sent)
      if (sent.method === 'POST' && posts.length <= drops) return request.socket.destroy()
      return response.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify(body))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    posts,
    env: {
      SVC_API_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
      SVC_CLI_TOKEN: token,
      SVC_PROJECT_ID: ids.project,
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

async function readWhole(request: IncomingMessage): Promise<Sent> {
  const key = request.headers['idempotency-key'] as string | undefined
  return { method: request.method!, path: request.url!, key, body: await text(request) }
}

test('sends a POST without an idempotency key once, because the server may have carried it out', async () => {
  await using server = await startBreakingServer({ drops: 1, body: aSession({ status: 'stopped' }) })
  const ran = await svc(['sessions', 'stop', ids.session, '--json'], { env: server.env })
  expect(server.posts.map(({ path, key }) => [path, key])).toEqual([
    [`/v1/projects/${ids.project}/sessions/${ids.session}/stop`, undefined],
  ])
  expect([ran.code, ran.stdout]).toEqual([1, ''])
  expect(ran.problem()).toMatchObject({ code: 'unreachable', error: expect.stringContaining('127.0.0.1') as string })
})

test('sends a POST with an idempotency key again with the same key and body', async () => {
  const account = { account_id: ids.account, slug: 'team', name: 'Team', plan: 'selfhost', role: 'owner' }
  await using server = await startBreakingServer({ drops: 1, body: account })
  const ran = await svc(['accounts', 'create', 'Team', '--json'], { env: server.env })
  expect([ran.code, ran.json()]).toEqual([0, account])
  const [first, second, ...others] = server.posts
  expect(others).toEqual([])
  expect(first).toEqual({
    method: 'POST',
    path: '/v1/accounts',
    key: expect.stringMatching(/^[0-9a-f-]{36}$/) as string,
    body: JSON.stringify({ name: 'Team' }),
  })
  expect(second).toEqual(first)
})

test('sends a POST with an idempotency key again once, then fails', async () => {
  await using server = await startBreakingServer({ drops: Infinity, body: null })
  const ran = await svc(['accounts', 'create', 'Team', '--json'], { env: server.env })
  expect([ran.code, ran.problem().code, server.posts.length]).toEqual([1, 'unreachable', 2])
})
