/** A preview in a frame of the dashboard, and in frames of everybody else, with the headers that a browser sends. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { request as httpRequest } from 'node:http'
import { buildApp } from '../../app.ts'
import { Listener } from '../../listen.ts'
import { makeSessionApp, type RunningSession, type SessionApp } from '../testing.ts'
import { sendRaw } from '../testing-raw.ts'
import { previewIngress } from './preview.ts'

interface Answer {
  status: number
  /** Names and values in turn. */
  raw: string[]
  text: string
}

let app: SessionApp
let session: RunningSession
let listener: Listener
let port: number
let host: string
let listening = [3000, 8000, 61_080]
/** What the program saw, and the headers that it answers with. */
let seen: string[] = []
let program: [string, string][] = []
let status = 200

beforeAll(async () => {
  app = await makeSessionApp({
    ports: () => listening,
    onPort: async (at, request) => {
      if (at !== 3000) return null
      seen.push(new URL(request.url).pathname + new URL(request.url).search)
      const headers = new Headers({ 'content-type': 'text/html' })
      for (const [name, value] of program) headers.append(name, value)
      return new Response(status === 304 ? null : '<h1>Hello</h1>', { status, headers })
    },
  })
  session = await app.running()
  listener = new Listener({ fromSandbox: false })
  port = await listener.onPort('127.0.0.1', 0)
  app.deps.config.publicUrl = `http://localhost:${port}`
  const served = buildApp(app.deps)
  listener.answerWith((request, env) => served.fetch(request, env as never), [previewIngress(app.deps)])
  host = `3000--${session.session_id}.localhost:${port}`
}, 120_000)
beforeEach(() => {
  seen = []
  program = []
  status = 200
})
afterAll(async () => {
  await listener.close()
  await app.close()
})

function ask(path: string, headers: Record<string, string> = {}, method = 'GET', at = host): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const options = { host: '127.0.0.1', port, method, path, headers: { host: at, ...headers }, agent: false as const }
    const out = httpRequest(options, (answer) => {
      let text = ''
      answer.setEncoding('utf8')
      answer.on('data', (chunk: string) => (text += chunk))
      answer.on('end', () => resolve({ status: answer.statusCode ?? 0, raw: answer.rawHeaders, text }))
    })
    out.on('error', reject)
    out.end()
  })
}

const valuesOf = ({ raw }: Answer, name: string) =>
  raw.flatMap((each, i) => (i % 2 === 0 && each.toLowerCase() === name ? [raw[i + 1]!] : []))
const framedBy = (answer: Answer) =>
  valuesOf(answer, 'content-security-policy').flatMap((value) =>
    [...value.matchAll(/frame-ancestors([^;,]*)/g)].map(([, sources = '']) => sources.trim()),
  )

/** Another page loads a document into a frame. */
const framed = {
  accept: 'text/html',
  'sec-fetch-site': 'cross-site',
  'sec-fetch-mode': 'navigate',
  'sec-fetch-dest': 'iframe',
}
/** The preview's own page does. */
const own = { ...framed, 'sec-fetch-site': 'same-origin' }
/** A script of the preview's page sends a request. */
const script = { 'sec-fetch-site': 'same-origin', 'sec-fetch-mode': 'cors', 'sec-fetch-dest': 'empty' }

async function ticket(at = 3000): Promise<string> {
  const reply = await app.request<{ url: string }>('GET', `${app.path(session.session_id, 'preview')}?port=${at}`)
  return new URL(reply.body.url).search.slice(1)
}

async function frameCookie(): Promise<string> {
  const entered = await ask(`/?${await ticket()}`, framed)
  return valuesOf(entered, 'set-cookie')[0]!.split(';')[0]!
}

const dashboards = () => `'self' http://localhost:${port} http://127.0.0.1:${port}`

describe('the sign-in of a frame', () => {
  test('gives a frame a partitioned cookie, and loads its path as a page of the preview', async () => {
    const entered = await ask(`/a?b&${await ticket()}`, framed)
    expect(entered.status).toBe(200)
    expect(valuesOf(entered, 'set-cookie')).toEqual([
      expect.stringMatching(
        /^svc_preview_frame=[\w-]{43}; Path=\/; HttpOnly; SameSite=None; Max-Age=43200; Secure; Partitioned$/,
      ),
    ])
    expect(framedBy(entered)).toEqual([dashboards()])
    expect(valuesOf(entered, 'content-security-policy')[0]).toStartWith("default-src 'none'; script-src 'nonce-")
    expect(entered.text).toContain('location.replace("/a?b=&svc_step=1" + location.hash)')
    const cookie = valuesOf(entered, 'set-cookie')[0]!.split(';')[0]!
    const stepped = await ask('/a?b&svc_step=1', { ...own, cookie })
    expect([stepped.status, valuesOf(stepped, 'location')]).toEqual([303, ['/a?b']])
    expect(seen).toEqual([])
    expect((await ask('/a?b', { ...own, cookie })).text).toContain('<h1>Hello')
    expect(seen).toEqual(['/proxy/3000/a?b'])
  })

  test('over https the cookie is bound to its host, and only the public URL may frame it', async () => {
    const { publicUrl, previewDomain } = app.deps.config
    Object.assign(app.deps.config, { publicUrl: 'https://svc.example.com', previewDomain: 'previews.test' })
    try {
      const at = `3000--${session.session_id}.previews.test`
      const entered = await ask(`/?${await ticket()}`, framed, 'GET', at)
      expect(valuesOf(entered, 'set-cookie')[0]).toMatch(
        /^__Host-svc_preview_frame=[\w-]{43}; Path=\/; HttpOnly; SameSite=None; Max-Age=43200; Secure; Partitioned$/,
      )
      expect(framedBy(entered)).toEqual(["'self' https://svc.example.com"])
      // A browser would not keep it over http, so the cookie is the usual one.
      app.deps.config.publicUrl = 'http://svc.example.com'
      const plain = await ask(`/?${await ticket()}`, framed, 'GET', at)
      expect(valuesOf(plain, 'set-cookie')[0]).toMatch(/^svc_preview=.*SameSite=Lax/)
    } finally {
      Object.assign(app.deps.config, { publicUrl, previewDomain })
    }
  })

  test('a used ticket and a missing cookie lead to a page that says so, in the frame', async () => {
    const used = await ticket()
    await ask(`/?${used}`, framed)
    const again = await ask(`/?${used}`, framed)
    expect([again.status, valuesOf(again, 'set-cookie')]).toEqual([200, []])
    const refused = await ask('/', own)
    expect([refused.status, framedBy(refused)]).toEqual([401, [dashboards()]])
    expect(refused.text).toContain('This frame is not signed in')
    expect(refused.text).toContain('open it in a new tab')
  })

  test('the pages about a program that does not run show in the frame', async () => {
    const at = `3999--${session.session_id}.localhost:${port}`
    const entered = await ask(`/?${await ticket(3999)}`, framed, 'GET', at)
    const cookie = valuesOf(entered, 'set-cookie')[0]!.split(';')[0]!
    const nothing = await ask('/', { ...own, cookie }, 'GET', at)
    expect([nothing.status, framedBy(nothing)]).toEqual([502, [dashboards()]])
    expect(nothing.text).toContain('Nothing listens on port 3999 yet')
  })
})

describe('requests with the cookie of a frame', () => {
  test('count when a page of the preview sends them', async () => {
    const cookie = await frameCookie()
    for (const [method, headers] of [
      ['GET', script],
      ['POST', { ...script, origin: `http://${host}` }],
      // A browser without Sec-Fetch headers.
      ['POST', { origin: `http://${host}` }],
    ] as const)
      expect([method, headers, (await ask('/', { cookie, ...headers }, method)).status]).toEqual([method, headers, 200])
    const upgrade = (more: string) =>
      sendRaw(port, `GET / HTTP/1.1\r\nHost: ${host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n${more}\r\n`)
    expect(await upgrade(`Cookie: ${cookie}\r\nOrigin: http://${host}\r\n`)).not.toStartWith('HTTP/1.1 401')
    expect(await upgrade(`Cookie: ${cookie}\r\n`)).toStartWith('HTTP/1.1 401')
    expect(await upgrade(`Cookie: ${cookie}\r\nOrigin: http://localhost:${port}\r\n`)).toStartWith('HTTP/1.1 403')
  })

  test('never reach the program when another page sends them', async () => {
    const cookie = await frameCookie()
    const foreign: [number, string, Record<string, string>][] = [
      [401, 'GET', {}],
      [401, 'GET', { 'sec-fetch-site': 'none' }],
      [403, 'GET', { ...script, 'sec-fetch-site': 'cross-site' }],
      [403, 'GET', { ...script, 'sec-fetch-site': 'same-site', 'sec-fetch-mode': 'no-cors' }],
      [403, 'POST', { ...framed, origin: `http://localhost:${port}` }],
      [403, 'POST', { ...framed, origin: 'null' }],
      // In a tab, only the cookie of tabs counts.
      [401, 'GET', { ...framed, 'sec-fetch-dest': 'document' }],
      [401, 'GET', { ...own, 'sec-fetch-dest': 'document' }],
      [401, 'HEAD', framed],
    ]
    for (const [expected, method, headers] of foreign)
      expect([method, headers, (await ask('/write', { cookie, ...headers }, method)).status]).toEqual([
        method,
        headers,
        expected,
      ])
    expect(seen).toEqual([])
  })

  test.each(['iframe', 'frame', 'embed', 'object', 'fencedframe'])(
    'a foreign %s gets a page that only the dashboard can frame, also with the cookie of a tab',
    async (dest) => {
      const entered = await ask(`/?${await ticket()}`)
      const tab = valuesOf(entered, 'set-cookie')[0]!.split(';')[0]!
      for (const cookie of [tab, await frameCookie()])
        for (const site of ['cross-site', 'same-site', 'none']) {
          const step = await ask('/write?x=1', { ...framed, cookie, 'sec-fetch-dest': dest, 'sec-fetch-site': site })
          expect([step.status, framedBy(step)]).toEqual([200, [dashboards()]])
          expect(step.text).not.toContain('<h1>Hello')
        }
      expect(seen).toEqual([])
    },
  )

  test('a page that cannot become one of the preview does not load itself for ever', async () => {
    const answer = await ask('/?svc_step=1', { ...framed, cookie: await frameCookie() })
    expect([answer.status, answer.text.includes('Blocked a request from another page')]).toEqual([403, true])
  })

  test.each(['//evil.test', '/.//evil.test', '/\\evil.test', '/"</script><script>'])(
    'the step of %j stays on the preview and is no code',
    async (path) => {
      const { text, status: answered } = await ask(encodeURI(path), framed)
      expect(answered).toBe(200)
      const [, next = ''] = /location\.replace\(("[^\n]*") \+ location\.hash\)/.exec(text) ?? []
      expect(new URL(JSON.parse(next) as string, `http://${host}`).host).toBe(host)
      expect(text.match(/<script/g)).toHaveLength(1)
      const stepped = await ask(`${encodeURI(path)}?svc_step=1`, own)
      expect(new URL(valuesOf(stepped, 'location')[0]!, `http://${host}`).host).toBe(host)
    },
  )
})

describe('the policy of the program', () => {
  const rows: [sent: [string, string][], framedBy: () => string[], showsInFrame: boolean][] = [
    [[], () => [dashboards()], true],
    [[['X-Frame-Options', 'DENY']], () => ["'none'"], false],
    [[['X-Frame-Options', ' sameorigin ']], () => ["'self'"], false],
    [[['X-Frame-Options', 'SAMEORIGIN, DENY']], () => ["'none'"], false],
    [[['X-Frame-Options', 'SAMEORIGIN, other']], () => ["'none'"], false],
    [[['X-Frame-Options', 'ALLOW-FROM https://a.test']], () => [dashboards()], true],
    [[['Content-Security-Policy', "frame-ancestors 'none'"]], () => ["'none'", dashboards()], false],
    [[['Content-Security-Policy', "default-src 'self'; Frame-Ancestors 'self'"]], () => [dashboards()], false],
    [[['Content-Security-Policy', "default-src 'self', frame-ancestors"]], () => ['', dashboards()], false],
    [
      [
        ['Content-Security-Policy', 'frame-ancestors https://a.test'],
        ['X-Frame-Options', 'DENY'],
      ],
      () => ['https://a.test', dashboards()],
      true,
    ],
    [
      [
        ['Content-Security-Policy-Report-Only', "frame-ancestors 'none'"],
        ['X-Frame-Options', 'DENY'],
      ],
      () => ["'none'"],
      false,
    ],
  ]
  test.each(rows)('stays in force beside ours: %j', async (sent, expected, showsInFrame) => {
    program = sent
    const entered = await ask(`/?${await ticket()}`)
    const tab = await ask('/', { cookie: valuesOf(entered, 'set-cookie')[0]!.split(';')[0]! })
    expect(tab.text).toContain('<h1>Hello')
    for (const [name, value] of sent.filter(([name]) => name.startsWith('Content')))
      expect(valuesOf(tab, name.toLowerCase()).join(', ')).toContain(value)
    expect(framedBy(tab)).toEqual(expected())
    const frame = await ask('/', { ...own, cookie: await frameCookie() })
    expect([frame.status, frame.text.includes('<h1>Hello')]).toEqual([showsInFrame ? 200 : 403, showsInFrame])
    if (!showsInFrame) expect(frame.text).toContain('The program on port 3000 does not allow frames')
  })

  test('is not replaced in what the browser has stored', async () => {
    status = 304
    const answer = await ask('/', { ...script, cookie: await frameCookie() })
    expect([answer.status, framedBy(answer)]).toEqual([304, []])
  })
})

describe('the page of the dashboard', () => {
  const frameSrc = async () => {
    const page = await app.request('GET', '/', { token: null, headers: { accept: 'text/html' } })
    return /frame-src ([^;]*)/.exec(page.headers.get('content-security-policy')!)?.[1] ?? null
  }

  test('frames the origins of previews and nothing else', async () => {
    expect(await frameSrc()).toBe(`http://*.localhost:${port}`)
    const { publicUrl, previewDomain } = app.deps.config
    try {
      for (const [address, domain, expected] of [
        ['https://svc.example.com', 'previews.test', 'https://*.previews.test'],
        ['https://svc.example.com:8443', 'previews.test', 'https://*.previews.test:8443'],
        // No browser stores the cookie there, or the names lead to the machine of the person.
        ['http://svc.example.com', 'previews.test', null],
        ['https://svc.example.com', 'localhost', null],
        ['http://127.0.0.1:8420', 'localhost', 'http://*.localhost:8420'],
        // No policy can name an IPv6 address, so the browser would refuse the frame.
        ['http://[::1]:8420', 'localhost', null],
        ['https://[2001:db8::1]', 'previews.test', null],
      ] as const) {
        Object.assign(app.deps.config, { publicUrl: address, previewDomain: domain })
        const { body } = await app.request<{ can_frame: boolean }>('GET', app.path(session.session_id, 'ports'))
        expect([address, domain, await frameSrc(), body.can_frame]).toEqual([
          address,
          domain,
          expected,
          expected !== null,
        ])
      }
    } finally {
      Object.assign(app.deps.config, { publicUrl, previewDomain })
    }
  })

  test('lists the ports that programs listen on, without those of the sandbox', async () => {
    const read = () => app.request('GET', app.path(session.session_id, 'ports'))
    expect((await read()).body).toEqual({ ports: [{ port: 3000 }], can_frame: true })
    listening = [70_000]
    expect((await read()).body).toEqual({ ports: null, can_frame: true })
    listening = [3000]
    const stopped = await app.running()
    await app.request('POST', app.path(stopped.session_id, 'stop'))
    expect((await app.request('GET', app.path(stopped.session_id, 'ports'))).body).toEqual({
      ports: [],
      can_frame: true,
    })
  })
})
