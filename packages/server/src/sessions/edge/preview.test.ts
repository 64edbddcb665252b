/** Previews by the real listener, dialled at 127.0.0.1 with the Host header a browser would send. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type IncomingMessage, request as httpRequest } from 'node:http'
import { randomUUID } from 'node:crypto'
import pino from 'pino'
import { buildApp } from '../../app.ts'
import { openDatabase } from '../../db/pool.ts'
import { Listener } from '../../listen.ts'
import { sandboxIngress } from './sandbox-url-upgrade.ts'
import { previewIngress } from './preview.ts'
import { makeSessionApp, type RunningSession, type SessionApp, until } from '../testing.ts'
import { sendRaw } from '../testing-raw.ts'

interface Answer {
  status: number
  headers: Record<string, string | string[] | undefined>
  text: string
}

let app: SessionApp
let session: RunningSession
let listener: Listener
let port: number
let host: string

beforeAll(async () => {
  app = await makeSessionApp({
    onPort: async (at, request) => {
      if (at !== 3000) return null
      const headers = new Headers({
        'x-own': 'kept',
        'clear-site-data': '"*"',
        'strict-transport-security': 'max-age=1',
        'alt-svc': 'h3=":1"',
        'x-accel-redirect': '/etc/passwd',
        nel: '{}',
        'secure-session-registration': '(ES256);path="/start"',
        'set-login': 'logged-out',
        'use-as-dictionary': 'match="/*"',
        'x-svc-anything': 'forged',
      })
      headers.append('set-cookie', 'own=1; Path=/')
      headers.append('set-cookie', 'wide=1; Domain=localhost')
      headers.append('set-cookie', 'wide2=1;  DOMAIN = .localhost; Path=/')
      headers.append('set-cookie', 'svc_session=stolen')
      headers.append('set-cookie', 'svc_preview=another')
      const seen = {
        url: request.url.replace('http://sandbox', ''),
        headers: Object.fromEntries(request.headers),
        body: await request.text(),
      }
      return Response.json(seen, { headers })
    },
  })
  session = await app.running()
  listener = new Listener({ fromSandbox: false })
  port = await listener.onPort('127.0.0.1', 0)
  app.deps.config.publicUrl = `http://localhost:${port}`
  const served = buildApp(app.deps)
  listener.answerWith(
    (request, env) => served.fetch(request, env as never),
    [previewIngress(app.deps), sandboxIngress(app.deps)],
  )
  host = `3000--${session.session_id}.localhost:${port}`
}, 120_000)
afterAll(async () => {
  await listener.close()
  await app.close()
})

function ask(
  at: string,
  path: string,
  headers: Record<string, string> = {},
  method = 'GET',
  body = '',
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const out = httpRequest(
      { host: '127.0.0.1', port, method, path, headers: { host: at, ...headers }, agent: false },
      (answer) => {
        let text = ''
        answer.setEncoding('utf8')
        answer.on('data', (chunk: string) => (text += chunk))
        answer.on('end', () => resolve({ status: answer.statusCode ?? 0, headers: answer.headers, text }))
      },
    )
    out.on('error', reject)
    out.end(body)
  })
}

async function address(of = session.session_id, at = 3000, token = app.ownerToken): Promise<URL> {
  const reply = await app.request<{ url: string }>('GET', `${app.path(of, 'preview')}?port=${at}`, { token })
  expect(reply.status).toBe(200)
  return new URL(reply.body.url)
}

async function cookieOf(url: URL): Promise<string> {
  const entered = await ask(url.host, url.pathname + url.search)
  expect(entered.status).toBe(303)
  return String(entered.headers['set-cookie']).split(';')[0]!
}

describe('access to a preview', () => {
  test('a ticket works once and becomes a cookie of this host only', async () => {
    const url = await address()
    expect(url.host).toBe(host)
    const entered = await ask(host, url.pathname + url.search)
    expect(entered).toMatchObject({ status: 303, headers: { location: '/', 'referrer-policy': 'no-referrer' } })
    const cookie = String(entered.headers['set-cookie'])
    expect(cookie).toMatch(/^svc_preview=[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax; Max-Age=\d+$/)
    const again = await ask(host, url.pathname + url.search)
    expect(again.status).toBe(401)
    expect(again.headers['set-cookie']).toBeUndefined()
    const inside = await ask(host, '/a?b=1', { cookie: cookie.split(';')[0]! })
    expect(inside.status).toBe(200)
    expect(JSON.parse(inside.text)).toMatchObject({ url: '/proxy/3000/a?b=1' })
    // A browser with a cookie that opens the old link again is redirected.
    expect((await ask(host, url.pathname + url.search, { cookie: cookie.split(';')[0]! })).status).toBe(303)
  })

  test('admits a viewer, and no stranger or former member', async () => {
    const viewer = await app.makeUser('viewer')
    const cookie = await cookieOf(await address(session.session_id, 3000, viewer.token))
    expect((await ask(host, '/', { cookie })).status).toBe(200)
    const stranger = await app.makeUser('owner', 'own')
    expect((await app.request('GET', app.path(session.session_id, 'preview'), { token: stranger.token })).status).toBe(
      403,
    )
    await app.deps.db.deleteFrom('account_members').where('user_id', '=', viewer.user_id).execute()
    await until('the viewer is out', async () => (await ask(host, '/', { cookie })).status === 401)
  })

  test.each([8000, 4096, 61080, 61081, 61082])("refuses port %d, which is the sandbox's own", async (at) => {
    const reply = await app.request('GET', `${app.path(session.session_id, 'preview')}?port=${at}`)
    expect([reply.status, reply.body.error]).toEqual([400, 'Port is one that the sandbox uses itself; choose another.'])
  })

  test('a ticket and a cookie belong to one port of one session', async () => {
    const url = await address()
    const otherPort = `3001--${session.session_id}.localhost:${port}`
    expect((await ask(otherPort, url.pathname + url.search)).status).toBe(401)
    const cookie = await cookieOf(await address())
    expect((await ask(otherPort, '/', { cookie })).status).toBe(401)
    const other = await app.running()
    expect((await ask(`3000--${other.session_id}.localhost:${port}`, '/', { cookie })).status).toBe(401)
    expect((await ask(`3000--${randomUUID()}.localhost:${port}`, '/', { cookie })).status).toBe(401)
  })

  test('a ticket expires after a minute and a cookie after half a day', async () => {
    const live = async (isTicket: boolean) => {
      const [row] = await app.deps.db
        .selectFrom('preview_grants')
        .select('expires_at')
        .where('is_ticket', '=', isTicket)
        .orderBy('expires_at', 'desc')
        .execute()
      return (Date.parse(row!.expires_at) - Date.now()) / 1000
    }
    const end = () =>
      app.deps.db
        .updateTable('preview_grants')
        .set({ expires_at: new Date(Date.now() - 1) })
        .execute()
    const url = await address()
    expect(Math.abs((await live(true)) - 60)).toBeLessThan(30)
    const entered = await ask(host, url.pathname + url.search)
    expect(String(entered.headers['set-cookie'])).toContain('Max-Age=43200')
    expect(Math.abs((await live(false)) - 43_200)).toBeLessThan(30)
    const late = await address()
    await end()
    expect((await ask(host, late.pathname + late.search)).status).toBe(401)
    expect((await ask(host, '/', { cookie: String(entered.headers['set-cookie']).split(';')[0]! })).status).toBe(401)
  })

  test('redirects to the same host and keeps the rest of the URL', async () => {
    for (const [path, location] of [
      ['//evil.test/x', '/evil.test/x'],
      ['/.//evil.test', '/evil.test'],
      ['/a/..///evil.test', '/evil.test'],
      ['/a/b?c=d', '/a/b?c=d'],
    ] as const) {
      const ticket = (await address()).searchParams.get('svc_ticket')!
      const entered = await ask(host, `${path}${path.includes('?') ? '&' : '?'}svc_ticket=${ticket}`)
      expect([path, entered.status, entered.headers.location]).toEqual([path, 303, location])
    }
    // A form of a page is no way in.
    const { pathname, search } = await address()
    expect((await ask(host, pathname + search, {}, 'POST')).status).toBe(401)
  })

  test('sets a secure cookie over https, and tells the program about https', async () => {
    const { publicUrl } = app.deps.config
    app.deps.config.publicUrl = 'https://localhost'
    try {
      const url = await address()
      expect(url.origin).toBe(`https://3000--${session.session_id}.localhost`)
      const cookie = String((await ask(url.host, url.pathname + url.search)).headers['set-cookie'])
      expect(cookie).toMatch(/^__Host-svc_preview=[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax; Max-Age=\d+; Secure$/)
      const inside = await ask(host, '/', { cookie: cookie.split(';')[0]! })
      expect(JSON.parse(inside.text)).toMatchObject({ headers: { 'x-forwarded-proto': 'https' } })
    } finally {
      app.deps.config.publicUrl = publicUrl
    }
  })

  test('refuses a token, a dashboard cookie and no credential without revealing anything', async () => {
    const tries: Record<string, string>[] = [
      {},
      { authorization: `Bearer ${app.ownerToken}` },
      { cookie: 'svc_session=x; svc_preview=' },
    ]
    for (const headers of tries) {
      const refused = await ask(host, '/', { ...headers, accept: 'text/html' })
      expect(refused.status).toBe(401)
      expect(refused.text).toContain(`svc sessions preview ${session.session_id.slice(0, 8)} 3000`)
      expect(refused.text).not.toContain('running')
    }
  })
})

describe('traffic of a preview', () => {
  test('drops hop-by-hop headers, headers of the service, and headers that affect other pages', async () => {
    const cookie = await cookieOf(await address())
    const answer = await ask(host, '/', {
      cookie: `own=2; ${cookie}; svc_session=mine; __Host-svc_session=mine`,
      'x-svc-user-context': 'forged',
      'x-forwarded-host': 'forged',
      authorization: 'Basic abc',
      // The server has answered it.
      expect: '100-continue',
    })
    const seen = JSON.parse(answer.text) as { headers: Record<string, string> }
    expect(seen.headers.expect).toBeUndefined()
    expect(seen.headers.cookie).toBe('own=2')
    expect(seen.headers['x-forwarded-host']).toBe(host)
    expect(seen.headers['x-svc-user-context']).toMatch(/^[\w-]+\.[\w-]{43}$/)
    expect(seen.headers.authorization).toBe('Basic abc')
    expect(answer.headers['x-own']).toBe('kept')
    expect(answer.headers['set-cookie']).toEqual(['own=1; Path=/'])
    for (const name of [
      'clear-site-data',
      'strict-transport-security',
      'alt-svc',
      'x-accel-redirect',
      'nel',
      'secure-session-registration',
      'set-login',
      'use-as-dictionary',
      'x-svc-anything',
    ])
      expect(answer.headers[name]).toBeUndefined()
    expect(answer.headers['cross-origin-opener-policy']).toBe('same-origin-allow-popups')
    expect(answer.headers['x-robots-tag']).toBe('noindex')
    expect(seen.headers['x-forwarded-proto']).toBe('http')
  })

  test('serves a service worker only while the program does, and never from a cache', async () => {
    const cookie = await cookieOf(await address())
    const worker = await ask(host, '/sw.js', { cookie, 'service-worker': 'script' })
    expect(worker.status).toBe(200)
    expect(worker.headers['content-type']).toContain('text/javascript')
    expect(worker.headers['cache-control']).toBe('no-store')
    expect(worker.headers['service-worker-allowed']).toBe('/')
    expect(worker.text).toContain('registration.unregister()')
    // A browser that lost access still has its worker.
    expect((await ask(host, '/sw.js', { 'service-worker': 'script' })).text).toContain('registration.unregister()')
    expect((await ask(host, '/sw.js', { cookie })).text).not.toContain('registration.unregister()')
    const nothing = await ask(host.replace('3000--', '3999--'), '/sw.js', { 'service-worker': 'script' })
    expect(nothing.text).toContain('registration.unregister()')
  })

  test('passes bodies of any size in both directions', async () => {
    const cookie = await cookieOf(await address())
    const body = 'x'.repeat(3_000_000)
    const answer = await ask(host, '/', { cookie, origin: `http://${host}` }, 'POST', body)
    expect((JSON.parse(answer.text) as { body: string }).body.length).toBe(body.length)
  })

  test('refuses requests of other pages, and accepts links', async () => {
    const cookie = await cookieOf(await address())
    const other = `http://3000--${randomUUID()}.localhost:${port}`
    const foreign: [string, Record<string, string>][] = [
      ['POST', { origin: other }],
      ['POST', { origin: 'null' }],
      ['GET', { origin: `http://localhost:${port}` }],
      ['GET', { 'sec-fetch-site': 'same-site', 'sec-fetch-mode': 'cors' }],
      ['GET', { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'no-cors' }],
      ['POST', { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' }],
      ['GET', { origin: 'null' }],
      ['GET', { origin: 'no address' }],
      // Only the name differs, or only the port.
      ['POST', { origin: `http://${host}`.replace('3000--', '3001--') }],
      ['POST', { origin: `http://${host}`.replace(`:${port}`, '') }],
    ]
    for (const [method, headers] of foreign)
      expect([method, headers, (await ask(host, '/', { cookie, ...headers }, method)).status]).toEqual([
        method,
        headers,
        403,
      ])
    const link = { cookie, 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' }
    const own: [string, Record<string, string>][] = [
      ['GET', link],
      ['HEAD', link],
      ['GET', { ...link, origin: other }],
      ['POST', { 'sec-fetch-site': 'same-origin', 'sec-fetch-mode': 'cors', origin: `http://${host}` }],
      ['POST', { origin: `http://${host.toUpperCase()}` }],
      ['GET', { 'sec-fetch-site': 'none' }],
    ]
    for (const [method, headers] of own)
      expect([method, headers, (await ask(host, '/', { cookie, ...headers }, method)).status]).toEqual([
        method,
        headers,
        200,
      ])
    // As a browser says it, and as another client might.
    expect((await ask(host.toUpperCase(), '/', { cookie, origin: `http://${host}` }, 'POST')).status).toBe(200)
  })

  test('traffic counts as activity of the session', async () => {
    const cookie = await cookieOf(await address(session.session_id, 3000))
    const fresh = await app.running()
    const other = await cookieOf(await address(fresh.session_id))
    const long = new Date(Date.now() - 30 * 60_000)
    await app.deps.db
      .updateTable('project_sessions')
      .set({ last_active_at: long })
      .where('session_id', '=', fresh.session_id)
      .execute()
    expect((await ask(host, '/', { cookie })).status).toBe(200)
    expect(Date.parse((await app.session(fresh.session_id)).last_active_at)).toBe(long.getTime())
    await ask(`3000--${fresh.session_id}.localhost:${port}`, '/', { cookie: other })
    await until(
      'the use is noted',
      async () => Date.parse((await app.session(fresh.session_id)).last_active_at) > long.getTime(),
    )
  })
})

describe('unavailable previews', () => {
  test('answers 502 with what to do when nothing listens, as a page and as JSON', async () => {
    const at = `4000--${session.session_id}.localhost:${port}`
    const cookie = await cookieOf(await address(session.session_id, 4000))
    const page = await ask(at, '/', { cookie, accept: 'text/html' })
    expect([page.status, page.headers['content-type']]).toEqual([502, 'text/html; charset=utf-8'])
    expect(page.text).toContain('Nothing listens on port 4000 yet')
    const data = await ask(at, '/', { cookie })
    expect([data.status, (JSON.parse(data.text) as { code: string }).code]).toEqual([502, 'preview_unreachable'])
  })

  test('answers 503 and tries again while the database is unavailable, and logs why without the ticket', async () => {
    const logged: string[] = []
    const log = pino({ level: 'info' }, { write: (line: string) => void logged.push(line) })
    const away = openDatabase('postgres://user@127.0.0.1:1/svc', log)
    const broken = new Listener({ fromSandbox: false })
    const whole = port
    port = await broken.onPort('127.0.0.1', 0)
    const deps = { ...app.deps, db: away.db, log }
    broken.answerWith(() => new Response(), [previewIngress(deps)])
    const page = await ask(host, '/?svc_ticket=hunter2', { accept: 'text/html' })
    port = whole
    await Promise.all([broken.close(), away.close()])
    expect([page.status, page.headers['retry-after']]).toEqual([503, '2'])
    expect(page.text).toContain('The database does not answer. Try again in a moment.')
    expect(logged.join('')).toContain('ECONNREFUSED')
    expect(logged.join('')).not.toContain('hunter2')
  })

  test('says that the session is stopped and how to start it', async () => {
    const stopped = await app.running()
    const cookie = await cookieOf(await address(stopped.session_id))
    await app.request('POST', app.path(stopped.session_id, 'stop'))
    const page = await ask(`3000--${stopped.session_id}.localhost:${port}`, '/', { cookie, accept: 'text/html' })
    expect(page.status).toBe(503)
    expect(page.text).toContain('The session is stopped')
    expect(page.text).toContain(`svc sessions restart ${stopped.session_id.slice(0, 8)}`)
  })
})

describe('host names of previews', () => {
  test('names below the preview domain never reach the API, and unknown ones reach nothing', async () => {
    const token = { authorization: `Bearer ${app.ownerToken}` }
    for (const [name, status] of [
      [host, 401],
      ['x.localhost', 404],
      [`0--${session.session_id}.localhost`, 404],
      [`65535--${session.session_id}.localhost`, 401],
      [`65536--${session.session_id}.localhost`, 404],
      [`03000--${session.session_id}.localhost`, 404],
      [`x3000--${session.session_id}.localhost`, 404],
      [`3000--${session.session_id}0.localhost`, 404],
      [`3000--${session.session_id.replaceAll('-', '0')}.localhost`, 404],
    ] as const) {
      const answer = await ask(name, '/v1/projects', token)
      expect([name, answer.status]).toEqual([name, status])
      expect(answer.text).not.toContain(app.project.project_id)
    }
    for (const name of ['evil.test', `3000--${session.session_id}.localhost.evil.test`, 'localhost.evil.test'])
      expect((await ask(name, '/v1/projects', token)).status).toBe(403)
    expect((await ask(`localhost:${port}`, '/v1/projects', token)).status).toBe(200)
    expect((await ask(`127.0.0.1:${port}`, '/v1/projects', token)).status).toBe(200)
  })

  test('serves the API on its own name below the preview domain', async () => {
    const { takes } = previewIngress({
      ...app.deps,
      config: { ...app.deps.config, publicUrl: 'http://Svc.localhost:8420', previewDomain: 'LOCALHOST' },
    })
    const named = (name: string) => takes({ rawHeaders: ['Host', name] } as unknown as IncomingMessage, false)
    expect(['svc.localhost:8420', 'SVC.localhost', 'localhost', host, 'x.Localhost'].map(named)).toEqual([
      ...[false, false, false],
      ...[true, true],
    ])
  })

  test('refuses two host names or none', async () => {
    const cookie = await cookieOf(await address())
    for (const hosts of [`Host: ${host}\r\nHost: ${host}\r\n`, `Host: localhost\r\nHost: ${host}\r\n`, '']) {
      const answer = await sendRaw(port, `GET / HTTP/1.1\r\n${hosts}Cookie: ${cookie}\r\nConnection: close\r\n\r\n`)
      expect(answer).not.toContain('200 OK')
    }
  })

  test('an upgrade reaches only what its host name says', async () => {
    const upgrade = (at: string, path: string, more = '') =>
      sendRaw(port, `GET ${path} HTTP/1.1\r\nHost: ${at}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n${more}\r\n`)
    expect(await upgrade(host, '/')).toStartWith('HTTP/1.1 401')
    expect(await upgrade('evil.test', '/')).toStartWith('HTTP/1.1 400')
    expect(await upgrade(`localhost:${port}`, '/v1/projects')).toStartWith('HTTP/1.1 400')
    const base = new URL(session.sandbox_url!).pathname
    expect(await upgrade(`localhost:${port}`, `${base}/proxy/3000/`)).toStartWith('HTTP/1.1 401')
    expect(
      await upgrade('evil.test', `${base}/proxy/3000/`, `Authorization: Bearer ${app.ownerToken}\r\n`),
    ).toStartWith('HTTP/1.1 403')
    expect(
      await upgrade(`localhost:${port}`, `${base}/svc/env`, `Authorization: Bearer ${app.ownerToken}\r\n`),
    ).toStartWith('HTTP/1.1 403')
    const token = `Authorization: Bearer ${app.ownerToken}\r\n`
    for (const path of [`${base}/svc/health`, `/x${base}/proxy/3000/`])
      expect(await upgrade(`localhost:${port}`, path, token)).toStartWith('HTTP/1.1 400')
    const cookie = await cookieOf(await address())
    const foreign = `Cookie: ${cookie}\r\nOrigin: http://localhost:${port}\r\n`
    expect(await upgrade(host, '/', foreign)).toStartWith('HTTP/1.1 403')
  })
})
