import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { randomUUID } from 'node:crypto'
import type { Project } from '@svc/contract'
import { makeSessionApp, type RunningSession, type SessionApp, until } from '../testing.ts'

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

describe('requests to a sandbox', () => {
  test('passes the method, the unchanged path and the body', async () => {
    const { status, body } = await echo('POST', '/a%20b/%2e%2e%2f?x=%C3%A9&y=1', {}, 'some body')
    expect(status).toBe(203)
    expect(body.method).toBe('POST')
    expect(body.url).toBe('/proxy/3000/a%20b/%2e%2e%2f?x=%C3%A9&y=1')
    expect(body.body).toBe('some body')
  })

  test("sets one user context, whatever the caller sends, and drops the caller's credential", async () => {
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

  test('signs each request separately', async () => {
    const contexts = await Promise.all(Array.from({ length: 20 }, () => echo('GET', '/')))
    expect(contexts.map((reply) => reply.status)).toEqual(contexts.map(() => 203))
    expect(new Set(contexts.map((reply) => reply.body.headers['x-svc-user-context'])).size).toBe(20)
  })

  test('passes the role of the caller', async () => {
    const { token } = await app.makeUser('member')
    const { body } = await app.request<Echo>('GET', `${base}/proxy/3000/`, { token })
    const [payload] = body.headers['x-svc-user-context']!.split('.')
    expect(JSON.parse(Buffer.from(payload!, 'base64url').toString()).role).toBe('member')
  })
})

describe('replies of a sandbox', () => {
  test('cannot run as a page of the service, set cookies or send its headers', async () => {
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

  test('refuses to open in a browser as a page', async () => {
    const reply = await app.request<{ code: string; hint: string }>('GET', `${base}/`, {
      headers: { 'sec-fetch-mode': 'navigate' },
    })
    expect([reply.status, reply.body.code]).toEqual([403, 'forbidden'])
    expect(reply.body.hint).toContain('svc sessions preview')
  })

  test("passes the daemon's message for a port where nothing listens", async () => {
    const reply = await app.request<{ code: string }>('GET', `${base}/proxy/3001/`)
    expect([reply.status, reply.body.code]).toEqual([502, 'nothing_listens'])
  })
})

test('shows the health of the daemon to everyone: healthy, gone, or starting', async () => {
  const of = await app.running()
  const path = `${new URL(of.sandbox_url!).pathname}/svc/health`
  const ask = () => app.request<{ daemon?: string; code?: string }>('GET', path, { token: null })
  const movesTo = (endpoint: string | null) =>
    app.deps.db
      .updateTable('session_sandboxes')
      .set({ endpoint })
      .where('sandbox_id', '=', of.sandbox!.sandbox_id)
      .execute()
  expect((await ask()).body.daemon).toBe('ok')
  await movesTo('/nowhere/daemon.sock')
  const away = await ask()
  expect([away.status, away.body.code]).toEqual([503, 'unavailable'])
  await movesTo(null)
  const starting = await ask()
  expect([starting.status, starting.body.daemon]).toEqual([200, 'starting'])
  await app.request('POST', app.path(of.session_id, 'stop'))
})

test('the URL of a sandbox exists and reports its health before the sandbox is created', async () => {
  const made = await app.create()
  expect(made.body.sandbox_url).toBeString()
  const first = new URL(made.body.sandbox_url!).pathname
  expect((await app.request('GET', `${first}/svc/health`, { token: null })).status).toBe(200)
  expect((await app.reaches(made.body.session_id, 'running')).sandbox_url).toBe(made.body.sandbox_url)

  const { session_id: sessionId } = made.body
  await app.deps.sessions.reconcile(sessionId)
  await app.request('POST', app.path(sessionId, 'stop'))
  // Nothing of the next start happens while this lock is held.
  await app.deps.localLocks.run(`session ${sessionId}`, async () => {
    await app.request('POST', app.path(sessionId, 'restart'))
    const next = await app.session(sessionId)
    expect(next).toMatchObject({ status: 'provisioning', sandbox: null })
    expect(next.sandbox_url).not.toBe(made.body.sandbox_url)
    const path = new URL(next.sandbox_url!).pathname
    const health = await app.request('GET', `${path}/svc/health`, { token: null })
    expect(health.status).toBe(200)
    expect(health.body).toMatchObject({
      ...{ daemon: 'starting', status: 'booting', runtime: 'starting', branch: sessionId, commit: null },
      ...{ generation: 2, boot: [], error: null },
    })
    const other = await app.request<{ code: string }>('GET', `${path}/agent`)
    expect([other.status, other.body.code]).toEqual([503, 'runtime_booting'])
    expect((await app.request('GET', `${path}/agent`, { token: null })).status).toBe(401)
    expect((await app.request('GET', `${first}/svc/health`, { token: null })).status).toBe(503)
  })
  const before = (await app.session(sessionId)).sandbox_url
  expect((await app.reaches(sessionId, 'running')).sandbox_url).toBe(before)
  await app.request('POST', app.path(sessionId, 'stop'))
  expect((await app.session(sessionId)).sandbox_url).toBeNull()
})

test('a stopped sandbox has no URL any more, and its old one says so', async () => {
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

test('a booting sandbox says so to early requests', async () => {
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

describe('the alias /v1/p', () => {
  const ids = { sandbox: () => session.sandbox!.sandbox_id, session: () => session.session_id }

  test.each(['sandbox', 'session'] as const)('accepts the id of the %s and works like sandbox_url', async (by) => {
    const at = `/v1/p/${ids[by]()}`
    const { status, body, headers } = await app.request<Echo>('POST', `${at}/proxy/3000/a%20b?x=1`, { body: 'some' })
    expect([status, body.method, body.url, body.body]).toEqual([203, 'POST', '/proxy/3000/a%20b?x=1', 'some'])
    expect(headers.get('content-security-policy')).toBe('sandbox')
    expect(headers.get('set-cookie')).toBeNull()
    const { token: viewer } = await app.makeUser('viewer')
    const { token: stranger } = await app.makeUser('owner', 'own')
    const answers: [string, Parameters<typeof app.request>[2], number][] = [
      ['/proxy/3000/', { token: null }, 401],
      ['/proxy/3000/', { token: viewer }, 403],
      ['/svc/prompt', {}, 403],
      ['/', { headers: { 'sec-fetch-mode': 'navigate' } }, 403],
    ]
    if (by === 'sandbox') answers.push(['/proxy/3000/', { token: stranger }, 403])
    for (const [path, options, want] of answers) {
      const alias = await app.request<{ error: string }>('GET', at + path, options)
      const url = await app.request<{ error: string }>('GET', base + path, options)
      expect([path, alias.status, alias.body.error]).toEqual([path, want, url.body.error])
    }
  })

  test('shows the health by sandbox id to everyone, and by session id to callers with access', async () => {
    const health = (id: string, token: string | null) =>
      app.request<{ daemon?: string }>('GET', `/v1/p/${id}/svc/health`, { token })
    expect((await health(ids.sandbox(), null)).body.daemon).toBe('ok')
    expect((await health(ids.session(), app.ownerToken)).body.daemon).toBe('ok')
    // The reply does not reveal which sessions exist.
    const nobody = await Promise.all([health(ids.session(), null), health(randomUUID(), null), health('x', null)])
    expect(nobody.map(({ status }) => status)).toEqual([401, 401, 401])
    expect((await health(randomUUID(), app.ownerToken)).status).toBe(404)
  })

  test('reveals a session by its id only to members of its account', async () => {
    const { token: stranger } = await app.makeUser('owner', 'own')
    const theirs = await app.request<Project>('POST', '/v1/projects', { token: stranger, body: { name: 'theirs' } })
    const { project: other } = await app.managedProject()
    const tokens = [
      stranger,
      await app.makeToken({ project_id: theirs.body.project_id }),
      await app.makeToken({ project_id: other.project_id }),
    ]
    const seen = async (id: string, path: string, token: string) => {
      const { status, text, headers } = await app.request('GET', `/v1/p/${id}${path}`, { token })
      const sent = [...headers].filter(([name]) => !['x-request-id', 'date'].includes(name))
      return { status, text, sent }
    }
    for (const token of tokens)
      for (const path of ['/svc/health', '/proxy/3000/', '/svc/env', '/']) {
        const there = await seen(ids.session(), path, token)
        expect(there.status).toBe(404)
        expect(there).toEqual(await seen(randomUUID(), path, token))
      }
  })

  test('leads by session id to the sandbox of the newest start', async () => {
    const again = await app.running()
    const at = `/v1/p/${again.session_id}/proxy/3000/`
    await app.request('POST', app.path(again.session_id, 'stop'))
    expect((await app.request<{ code: string }>('GET', at)).body.code).toBe('unavailable')
    await app.request('POST', app.path(again.session_id, 'restart'))
    await app.reaches(again.session_id, 'running')
    await app.deps.sessions.reconcile(again.session_id)
    expect((await app.request('GET', at)).status).toBe(203)
    expect((await app.request('GET', `/v1/p/${again.sandbox!.sandbox_id}/proxy/3000/`)).status).toBe(503)
  })
})
