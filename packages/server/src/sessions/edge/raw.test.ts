/** Requests and upgrades that a hostile caller with access to the sandbox tries to smuggle to its daemon, byte by byte. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readUserContext, userContextKey } from '@svc/contract'
import { headerLines } from '@svc/contract/daemon/raw-headers'
import { buildApp } from '../../app.ts'
import { Listener } from '../../listen.ts'
import { sandboxIngress } from './sandbox-url-upgrade.ts'
import { makeSessionApp, type RunningSession, type SessionApp } from '../testing.ts'
import { sendRaw } from '../testing-raw.ts'

interface Reached {
  method: string | undefined
  path: string | undefined
  rawHeaders: string[]
}

setDefaultTimeout(120_000)
let app: SessionApp
let session: RunningSession
let listener: Listener
let port: number
let base: string
let folder: string
let tap: Server
let key: Awaited<ReturnType<typeof userContextKey>>
/** Every request that reached the daemon. */
let reached: Reached[] = []

beforeAll(async () => {
  app = await makeSessionApp()
  session = await app.running()
  base = new URL(session.sandbox_url!).pathname
  listener = new Listener({ fromSandbox: false })
  port = await listener.onPort('127.0.0.1', 0)
  app.deps.config.publicUrl = `http://localhost:${port}`
  const served = buildApp(app.deps)
  listener.answerWith((request, env) => served.fetch(request, env as never), [sandboxIngress(app.deps)])

  const daemon = app.deps.sessions.daemonOf(session.session_id)!
  key = await userContextKey(daemon.sandboxKey)
  folder = await mkdtemp(join(tmpdir(), 'svc-tap-'))
  daemon.socket = join(folder, 'tap.sock')
  const note = ({ method, url, rawHeaders }: IncomingMessage) => {
    // The server has questions of its own to a daemon.
    if (headerLines(rawHeaders, 'x-test').length > 0) reached.push({ method, path: url, rawHeaders })
  }
  tap = createServer((request, response) => {
    note(request)
    request.resume()
    response.end(request.url?.startsWith('/svc/') ? '{"daemon":"ok"}' : 'the program')
  })
  tap.on('upgrade', (request, socket) => {
    note(request)
    socket.on('error', () => {})
    socket.end('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n')
  })
  await new Promise<void>((listening) => tap.listen(daemon.socket, listening))
}, 120_000)
afterAll(async () => {
  tap.close()
  await listener.close()
  await app.close()
  await rm(folder, { recursive: true, force: true })
})

const kinds = ['GET', 'POST', 'upgrade'] as const
type Kind = (typeof kinds)[number]

function request(kind: Kind, target: string, more: string[] = []): string {
  const lines = [`${kind === 'upgrade' ? 'GET' : kind} ${target} HTTP/1.1`]
  const named = (name: string) => more.some((line) => line.toLowerCase().startsWith(`${name}:`))
  if (!named('host')) lines.push(`Host: localhost:${port}`)
  if (!named('authorization')) lines.push(`Authorization: Bearer ${app.ownerToken}`)
  lines.push('X-Test: 1', ...more)
  if (kind === 'upgrade') {
    if (!named('connection')) lines.push('Connection: Upgrade')
    lines.push('Upgrade: websocket', 'Sec-WebSocket-Version: 13', 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==')
  } else if (!named('connection')) lines.push('Connection: close')
  if (kind === 'POST' && !named('content-length') && !named('transfer-encoding')) lines.push('Content-Length: 0')
  return [...lines, '', ''].join('\r\n')
}

/** Every forwarded request names the caller and this request only, and reaches no control route. */
async function judge(requests: Reached[]): Promise<void> {
  for (const { method, path = '', rawHeaders } of requests) {
    expect([path, /^[/\\]+svc([/?\\]|$)/i.test(path)]).toEqual([path, false])
    const contexts = headerLines(rawHeaders, 'x-svc-user-context')
    expect(contexts).toHaveLength(1)
    const names = rawHeaders.filter((_, at) => at % 2 === 0).map((name) => name.toLowerCase())
    expect(names.filter((name) => name.startsWith('x-svc-'))).toEqual(['x-svc-user-context'])
    expect(await readUserContext(key, contexts[0]!)).toMatchObject({
      user_id: app.owner.user_id,
      session_id: session.session_id,
      role: 'owner',
      method,
      path,
    })
    expect(rawHeaders.join('\n')).not.toContain(app.ownerToken)
    expect(headerLines(rawHeaders, 'host')).toHaveLength(1)
  }
}

async function through(text: string): Promise<{ answer: string; requests: Reached[] }> {
  reached = []
  const answer = await sendRaw(port, text)
  return { answer, requests: reached }
}

const control = ['/svc', '/svc/', '/svc/env', '/svc/prompt', '/svc/refresh', '/svc/abort', '/svc/claim?x']
/** Spellings of a path that a proxy could read as another path. */
const spellings = (path: string): string[] => [
  path,
  `/proxy/3000/../..${path}`,
  `/proxy/3000/%2e%2e/%2E%2e${path}`,
  `/proxy/3000/..%2f..${path}`,
  `/x/..${path}`,
  `/.${path}`,
  `/%2e${path}`,
  `/${path}`,
  path.replace('/svc', '/%73vc'),
  path.replace('/svc', '/SVC'),
  path.replace('/svc', '/svc;x'),
  path.replace('/svc', '/svc%00'),
  path.replace('/svc', '/svc%2f'),
  path.replaceAll('/', '\\'),
  `/proxy/3000/..\\..${path.replaceAll('/', '\\')}`,
  `/\t${path}`,
]

/** The address a session shows, and the aliases of it. */
const addresses: [string, () => string][] = [
  ['sandbox_url', () => new URL(session.sandbox_url!).pathname],
  ['the alias by the sandbox', () => `/v1/p/${session.sandbox!.sandbox_id}`],
  ['the alias by the session', () => `/v1/p/${session.session_id}`],
]

describe.each(addresses)('unusual paths below %s', (_, address) => {
  test("no spelling reaches the daemon's own routes", async () => {
    const base = address()
    const targets = control.flatMap(spellings)
    let count = 0
    for (const kind of kinds)
      for (const target of targets) {
        const { answer, requests } = await through(request(kind, base + target))
        await judge(requests)
        expect([kind, target, answer.includes('"daemon":"ok"')]).toEqual([kind, target, false])
        count++
      }
    expect(count).toBeGreaterThanOrEqual(300)
  })

  test('a target that is no path, or is at another sandbox, reaches nothing', async () => {
    const base = address()
    const targets = [
      `http://localhost:${port}${base}/svc/env`,
      `http://evil.test${base}/proxy/3000/`,
      `//evil.test${base}/proxy/3000/`,
      `${base}/../00000000-0000-4000-8000-000000000000/proxy/3000/`,
      `${base.replace('sandboxes', '%73andboxes').replace('/p/', '/%70/')}/proxy/3000/`,
      `${base.replace('/v1/', '/%761/')}/svc/env`,
      `${base}%2fproxy/3000/`,
      '*',
      base.slice(1),
      `${base}/proxy/3000/ HTTP/1.1\r\nX-Svc-User-Context: forged\r\nX:`,
      `${base}/proxy/3000/\r\nX-Svc-User-Context: forged\r\nX:`,
    ]
    for (const kind of kinds)
      for (const target of targets) {
        const { answer, requests } = await through(request(kind, target))
        await judge(requests)
        expect([kind, target, answer.includes('"daemon":"ok"')]).toEqual([kind, target, false])
      }
  })
})

describe('forged headers', () => {
  const forged = 'eyJ1c2VyX2lkIjoieCJ9.AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA'
  const tricks: [what: string, lines: () => string[]][] = [
    ['forged', () => [`X-Svc-User-Context: ${forged}`]],
    ['forged in small letters', () => [`x-svc-user-context: ${forged}`]],
    ['forged in capitals', () => [`X-SVC-USER-CONTEXT: ${forged}`]],
    ['forged twice', () => [`X-Svc-User-Context: ${forged}`, `X-Svc-User-Context: ${forged}`]],
    ['forged with a space before the colon', () => [`X-Svc-User-Context : ${forged}`]],
    ['forged with a tab before the colon', () => [`X-Svc-User-Context\t: ${forged}`]],
    ['forged with underscores', () => [`X_Svc_User_Context: ${forged}`]],
    ['forged in a folded line', () => ['X-Other: a', ` X-Svc-User-Context: ${forged}`]],
    ['forged after a bare line feed', () => [`X-Other: a\nX-Svc-User-Context: ${forged}`]],
    ['forged after a bare carriage return', () => [`X-Other: a\rX-Svc-User-Context: ${forged}`]],
    ['forged after a NUL', () => [`X-Other: a\0\r\nX-Svc-User-Context: ${forged}`]],
    ['forged after a vertical tab', () => [`\x0bX-Svc-User-Context: ${forged}`]],
    ['empty', () => ['X-Svc-User-Context:']],
    ['of ours by any name', () => ['X-Svc-Anything: 1', 'x-svc-role: owner', 'X-Svc-Error: no']],
    ['that names ours as connection-bound', () => ['Connection: close, X-Svc-User-Context']],
    ['that names the authorization as connection-bound', () => ['Connection: close, Authorization']],
    ['of a forwarder', () => ['X-Forwarded-For: 1.2.3.4', 'Forwarded: for=1.2.3.4', 'X-Real-IP: 1.2.3.4']],
    ['Host twice', () => [`Host: localhost:${port}`, 'Host: evil.test']],
    ['Host of a stranger', () => ['Host: evil.test']],
    ['Host with a path', () => [`Host: localhost:${port}/x`]],
    ['Authorization twice', () => [`Authorization: Bearer ${app.ownerToken}`, 'Authorization: Bearer x']],
    [
      'Authorization twice, the wrong one first',
      () => ['Authorization: Bearer x', `Authorization: Bearer ${app.ownerToken}`],
    ],
    ['Content-Length twice', () => ['Content-Length: 0', 'Content-Length: 44']],
    ['Content-Length and chunks', () => ['Content-Length: 44', 'Transfer-Encoding: chunked']],
    ['a coding nobody knows', () => ['Transfer-Encoding: chunked, gzip']],
    ['chunks spelled oddly', () => ['Transfer-Encoding: xchunked']],
    ['chunks with a tab', () => ['Transfer-Encoding:\tchunked']],
    ['chunks twice', () => ['Transfer-Encoding: chunked', 'Transfer-Encoding: identity']],
    ['Content-Length with a sign', () => ['Content-Length: +0']],
    ['Content-Length in hexadecimal', () => ['Content-Length: 0x10']],
    ['an expectation', () => ['Expect: 100-continue']],
    ['an upgrade to HTTP/2', () => ['HTTP2-Settings: AAMAAABkAAQAAP__', 'X: 1']],
    ['__proto__', () => ['__proto__: x', 'constructor: y']],
    ['a hundred kilobytes long', () => [`X-Long: ${'a'.repeat(100_000)}`]],
  ]
  /** A smuggled request for a server that misreads the length of the body. */
  const smuggled = () =>
    `0\r\n\r\nPOST /svc/env HTTP/1.1\r\nHost: sandbox\r\nX-Test: 1\r\nX-Svc-User-Context: ${forged}\r\nContent-Length: 2\r\n\r\n{}`

  test('no forged header reaches the daemon in the name of the service', async () => {
    for (const kind of kinds)
      for (const [what, lines] of tricks)
        for (const body of ['', smuggled()]) {
          const { answer, requests } = await through(request(kind, `${base}/proxy/3000/`, lines()) + body)
          expect([kind, what, requests.length <= 1]).toEqual([kind, what, true])
          await judge(requests)
          expect([kind, what, answer.includes('"daemon":"ok"')]).toEqual([kind, what, false])
        }
  })

  test.each(addresses)('a normal request reaches the daemon below %s', async (_, address) => {
    const base = address()
    const { answer, requests } = await through(request('GET', `${base}/proxy/3000/`))
    expect(answer).toStartWith('HTTP/1.1 200')
    expect(requests).toHaveLength(1)
    await judge(requests)
    expect((await through(request('upgrade', `${base}/proxy/3000/`))).requests).toHaveLength(1)
  })
})
