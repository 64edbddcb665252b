import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { makeSessionApp, type RunningSession, type SessionApp, until } from './testing.ts'

interface Echo {
  method: string
  url: string
  headers: Record<string, string>
  body: string
}

let app: SessionApp
let session: RunningSession
let base: string
beforeAll(async () => {
  app = await makeSessionApp({
    // A program of the agent's that tells what reached it, and answers with everything a page should not get from it.
    onPort: async (port, request) =>
      port !== 3000
        ? null
        : Response.json(
            {
              method: request.method,
              url: request.url.replace('http://daemon', ''),
              headers: Object.fromEntries(request.headers),
              body: await request.text(),
            } satisfies Echo,
            {
              status: 203,
              headers: [
                ['x-own', 'kept'],
                ['set-cookie', 'svc_session=stolen'],
                ['set-cookie', 'of-the-program=1; Path=/'],
                ['clear-site-data', '"*"'],
                ['strict-transport-security', 'max-age=1'],
                ['alt-svc', 'h3=":1"'],
                ['x-accel-redirect', '/etc/passwd'],
                ['x-svc-user-context', 'forged'],
                ['content-security-policy', "default-src * 'unsafe-inline'"],
              ],
            },
          ),
  })
  session = await app.running()
  base = new URL(session.sandbox_url!).pathname
}, 120_000)
afterAll(() => app.close())

const echo = (method: string, path: string, headers: Record<string, string> = {}, body?: string) =>
  app.request<Echo>(method, `${base}/proxy/3000${path}`, { headers, ...(body === undefined ? {} : { body }) })

describe('what goes in', () => {
  test('is the method, the path as it was sent, and the body', async () => {
    const { status, body } = await echo('POST', '/a%20b/%2e%2e%2f?x=%C3%A9&y=1', {}, 'some body')
    expect(status).toBe(203)
    expect(body.method).toBe('POST')
    expect(body.url).toBe('/proxy/3000/a%20b/%2e%2e%2f?x=%C3%A9&y=1')
    expect(body.body).toBe('some body')
  })

  test('has one user context, ours, whatever the caller sends; and nothing the caller signs in with', async () => {
    const { body } = await echo('GET', '/', {
      'x-svc-user-context': 'forged',
      'X-Svc-Anything': 'forged',
      cookie: 'svc_session=mine',
      'x-kept': 'kept',
    })
    expect(body.headers['x-svc-user-context']).toMatch(/^[\w-]+\.[\w-]{43}$/)
    expect(body.headers['x-svc-anything']).toBeUndefined()
    expect(body.headers.authorization).toBeUndefined()
    expect(body.headers.cookie).toBeUndefined()
    expect(body.headers['x-kept']).toBe('kept')
    const context = JSON.parse(Buffer.from(body.headers['x-svc-user-context']!.split('.')[0]!, 'base64url').toString())
    expect(context).toMatchObject({
      user_id: app.owner.user_id,
      session_id: session.session_id,
      generation: 1,
      role: 'owner',
      method: 'GET',
      path: '/proxy/3000/',
    })
    expect(context.exp - context.iat).toBeLessThanOrEqual(60)
  })

  test('is signed for each request anew', async () => {
    const contexts = await Promise.all(Array.from({ length: 20 }, () => echo('GET', '/')))
    expect(contexts.map((reply) => reply.status)).toEqual(contexts.map(() => 203))
    expect(new Set(contexts.map((reply) => reply.body.headers['x-svc-user-context'])).size).toBe(20)
  })

  test('is told the role of who asks', async () => {
    const { token } = await app.makeUser('member')
    const { body } = await app.request<Echo>('GET', `${base}/proxy/3000/`, { token })
    const [payload] = body.headers['x-svc-user-context']!.split('.')
    expect(JSON.parse(Buffer.from(payload!, 'base64url').toString()).role).toBe('member')
  })
})

describe('what comes out', () => {
  test('cannot run as a page of ours, set our cookies or speak for us', async () => {
    const { headers } = await echo('GET', '/')
    expect(headers.get('content-security-policy')).toBe('sandbox')
    expect(headers.get('x-content-type-options')).toBe('nosniff')
    expect(headers.get('x-own')).toBe('kept')
    for (const name of [
      'set-cookie',
      'clear-site-data',
      'strict-transport-security',
      'alt-svc',
      'x-accel-redirect',
      'x-svc-user-context',
    ])
      expect([name, headers.get(name)]).toEqual([name, null])
  })

  test('is no page of a browser', async () => {
    const reply = await app.request<{ code: string; hint: string }>('GET', `${base}/`, {
      headers: { 'sec-fetch-mode': 'navigate' },
    })
    expect([reply.status, reply.body.code]).toEqual([403, 'forbidden'])
    expect(reply.body.hint).toContain('svc sessions preview')
  })

  test('of a port where nothing listens is told by the daemon', async () => {
    const reply = await app.request<{ code: string }>('GET', `${base}/proxy/3001/`)
    expect([reply.status, reply.body.code]).toEqual([502, 'nothing_listens'])
  })
})

test('whether its daemon is well is told to everybody: yes, not any more, not yet', async () => {
  const of = await app.running()
  const path = `${new URL(of.sandbox_url!).pathname}/svc/health`
  const ask = () => app.request<{ daemon?: string; code?: string }>('GET', path, { token: null })
  expect((await ask()).body.daemon).toBe('ok')
  const places = [
    ['/nowhere/daemon.sock', 'unavailable'],
    [null, 'runtime_booting'],
  ] as const
  for (const [endpoint, code] of places) {
    await app.deps.db
      .updateTable('session_sandboxes')
      .set({ endpoint })
      .where('sandbox_id', '=', of.sandbox!.sandbox_id)
      .execute()
    const reply = await ask()
    expect([reply.status, reply.body.code]).toEqual([503, code])
  }
  await app.request('POST', app.path(of.session_id, 'stop'))
})

test('a stopped sandbox has no address any more, and its old one says so', async () => {
  const doomed = await app.running()
  const path = new URL(doomed.sandbox_url!).pathname
  await app.request('POST', app.path(doomed.session_id, 'stop'))
  for (const [at, token] of [
    ['/svc/health', null],
    ['/agent', app.ownerToken],
  ] as const) {
    const reply = await app.request<{ code: string }>('GET', path + at, { token })
    expect([reply.status, reply.body.code, reply.headers.get('retry-after')]).toEqual([503, 'unavailable', '2'])
  }
})

test('a sandbox that boots says so to whoever comes too early', async () => {
  app.driver.options.bootMs = 60_000
  const { body } = await app.create()
  const sandbox = await until('it boots', async () => {
    const found = (await app.session(body.session_id)).sandbox
    return found !== null && (await app.driver.find(found.sandbox_id)) ? found : null
  })
  const reply = await app.request<{ code: string }>('GET', `/v1/sandboxes/${sandbox.sandbox_id}/agent`)
  expect([reply.status, reply.body.code]).toEqual([503, 'runtime_booting'])
  delete app.driver.options.bootMs
  await app.request('POST', app.path(body.session_id, 'stop'))
})
