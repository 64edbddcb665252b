/** The daemon at its door: who passes, where to, and what is left out on the way. Raw bytes in, raw bytes out. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { statSync } from 'node:fs'
import { createServer, type Server } from 'node:net'

import type { DaemonHealth } from '@svc/contract/daemon/control'

import {
  contextLine,
  type DaemonUnderTest,
  raw,
  request,
  signed,
  startTestDaemon,
  statusOf,
  testToken,
  until,
} from '../testing.ts'

// Generous: the machines that run this are busy with everything else.
setDefaultTimeout(120_000)

let under: DaemonUnderTest
/** Counts connections to the daemon's own ports made by way of the daemon. */
let app: Server
let appPort: number
const bearer = `Authorization: Bearer ${testToken}`

const send = (method: string, path: string, lines: string[] = [], body = '') =>
  raw(under.port, request(method, path, lines, body))
const pass = async (path: string) => send('GET', path, [await contextLine(path)])

beforeAll(async () => {
  under = await startTestDaemon()
  await until('the daemon to be ready', async () => (await under.daemon.health()).status === 'ready')
  app = createServer((socket) => {
    socket.once('data', (head) => {
      const line = head.toString('latin1').split('\r\n')[0]!
      socket.end(
        `HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nX-Svc-Evil: 1\r\nSet-Cookie: a=1\r\n\r\napp saw ${line}`,
      )
    })
  })
  await new Promise<void>((resolve) => app.listen(0, '127.0.0.1', resolve))
  appPort = (app.address() as { port: number }).port
})
afterAll(async () => {
  app.close()
  await under.close()
})

describe('the health route', () => {
  test('the health route needs no key, on the port and on the socket', async () => {
    const overPort = JSON.parse((await send('GET', '/svc/health')).split('\r\n\r\n')[1]!) as DaemonHealth
    const overSocket = (await (await fetch('http://daemon/svc/health', { unix: under.socket })).json()) as DaemonHealth
    expect(overPort).toMatchObject({ daemon: 'ok', status: 'ready', runtime: 'ready', generation: 2, error: null })
    expect(overSocket).toMatchObject({ daemon: 'ok', branch: 'session-1', commit: null, runtime_session_id: null })
    expect(overPort.boot.map((step) => step.step)).toContain('listen')
  })
  test("only the daemon's uid can open its socket", () => {
    expect(statSync(under.socket).mode & 0o777).toBe(0o600)
  })
  test('the health route accepts only GET and says so', async () => {
    expect(statusOf(await send('POST', '/svc/health'))).toBe(405)
  })
})

describe('access to the control routes', () => {
  const wrongKeys = [
    '',
    'Authorization: Bearer ',
    'Authorization: Bearer svc_sbx_unix',
    `Authorization: bearer ${testToken}`,
    `Authorization: Basic ${testToken}`,
    `Authorization: Bearer ${testToken} x`,
    `Authorization: Bearer ${testToken.slice(0, -1)}`,
    `X-Authorization: Bearer ${testToken}`,
    `${bearer}\r\n${bearer}`,
    `Authorization: Bearer x\r\n${bearer}`,
  ]
  test.each(['prompt', 'attachment', 'abort', 'refresh', 'env', 'nothing', ''])(
    'refuses POST /svc/%s with any wrong key',
    async (name) => {
      for (const line of wrongKeys) {
        expect(statusOf(await send('POST', `/svc/${name}`, line === '' ? [] : [line], '{}'))).toBe(401)
      }
    },
  )

  test('accepts the service key for the control routes only', async () => {
    expect(statusOf(await send('POST', '/svc/abort', [bearer], '{}'))).toBe(200)
    expect(statusOf(await send('POST', '/svc', [bearer], '{}'))).toBe(404)
    expect(statusOf(await send('GET', '/session', [bearer]))).toBe(401)
    expect(statusOf(await send('GET', `/proxy/${appPort}/`, [bearer]))).toBe(401)
  })

  test('accepts a signed user context for the control routes', async () => {
    const line = await contextLine('/svc/abort', { method: 'POST' })
    expect(statusOf(await send('POST', '/svc/abort', [line], '{}'))).toBe(200)
  })

  const now = Math.floor(Date.now() / 1000)
  test.each([
    ['another key', { token: 'svc_sbx_other' }],
    ['another session', { session_id: 'session-2' }],
    ['an older sandbox', { generation: 1 }],
    ['another method', { method: 'POST' }],
    ['another path', { path: '/session/2' }],
    ['the path without its query', { path: '/echo-not' }],
    ['expired', { iat: now - 100, exp: now - 40 }],
    ['expires this second', { exp: now - 1 }],
    ['valid for too long', { exp: now + 3600 }],
    ['from the future', { iat: now + 3600, exp: now + 3660 }],
    ['no time at all', { exp: undefined as unknown as number }],
    ['time as text', { exp: '9999999999' as unknown as number }],
    ['endless', { exp: Number.MAX_VALUE }],
    ['no id', { jti: '' }],
    ['a huge id', { jti: 'x'.repeat(200) }],
  ])('refuses a user context with %s', async (_, wrong) => {
    expect(statusOf(await send('GET', '/thing', [await contextLine('/thing', wrong)]))).toBe(401)
  })

  test('accepts a user context only once', async () => {
    const line = await contextLine('/once')
    expect(statusOf(await send('GET', '/once', [line]))).toBe(200)
    expect(statusOf(await send('GET', '/once', [line]))).toBe(401)
    // In parallel too: the id is taken before anything is awaited.
    const other = await contextLine('/twice')
    const both = await Promise.all([send('GET', '/twice', [other]), send('GET', '/twice', [other])])
    expect(both.map(statusOf).sort()).toEqual([200, 401])
  })

  test('accepts exactly one header line with a user context', async () => {
    const good = await contextLine('/thing')
    const again = await contextLine('/thing')
    for (const lines of [
      [good, again],
      [good, 'x-svc-user-context: '],
      ['X-SVC-USER-CONTEXT: a.b', good],
      [`${good}, ${again.split(': ')[1]}`],
      [good.replace(': ', ':\t').replace('x-svc', 'x_svc')],
      [`${good}\r\n continued`],
      [`${good}.x`],
      [good.replace(/.$/, (last) => (last === 'A' ? 'B' : 'A'))],
    ]) {
      expect([400, 401]).toContain(statusOf(await send('GET', '/thing', lines)))
    }
    expect(statusOf(await send('GET', '/thing', [good]))).toBe(200)
  })

  test('compares the path as it was sent, including query and spelling', async () => {
    expect(statusOf(await send('GET', '/a?x=1', [await contextLine('/a')]))).toBe(401)
    expect(statusOf(await send('GET', '/%61', [await contextLine('/a')]))).toBe(401)
    expect(statusOf(await send('GET', '/a?x=1', [await contextLine('/a?x=1')]))).toBe(200)
  })

  test('refuses a user context with any bit changed', async () => {
    const value = await signed('/bits')
    for (let at = 0; at < value.length; at += 7) {
      const flipped = value.slice(0, at) + (value[at] === 'A' ? 'B' : 'A') + value.slice(at + 1)
      expect(statusOf(await send('GET', '/bits', [`x-svc-user-context: ${flipped}`]))).toBe(401)
    }
  })
})

describe('the proxy to ports of the sandbox', () => {
  test('passes path and query to a port unchanged', async () => {
    const path = (rest: string) => `/proxy/${appPort}${rest}`
    expect(await pass(path('/a/../b?x=%2F'))).toContain('app saw GET /a/../b?x=%2F HTTP/1.1')
    expect(await pass(path(''))).toContain('app saw GET / HTTP/1.1')
    expect(await pass(path('?q=1'))).toContain('app saw GET /?q=1 HTTP/1.1')
    expect((await pass(path('/'))).toLowerCase()).not.toContain('x-svc-evil')
  })

  test('says what to do when nothing listens on the port', async () => {
    const answer = await pass('/proxy/1/')
    expect(statusOf(answer)).toBe(502)
    expect(JSON.parse(answer.split('\r\n\r\n')[1]!)).toEqual({
      error: 'Nothing listens on port 1 in the sandbox.',
      code: 'nothing_listens',
      hint: 'Start a server on 127.0.0.1:1 in the session, then try again.',
    })
    const lines = ['Connection: Upgrade', 'Upgrade: websocket', await contextLine('/proxy/1/')]
    const upgraded = await raw(under.port, ['GET /proxy/1/ HTTP/1.1', 'Host: x', ...lines, '', ''].join('\r\n'))
    expect(statusOf(upgraded)).toBe(502)
    expect(upgraded).toContain('\r\nX-Svc-Error: nothing_listens\r\n')
    expect(JSON.parse(upgraded.split('\r\n\r\n')[1]!)).toMatchObject({ code: 'nothing_listens' })
    // The last port there is.
    expect(statusOf(await pass('/proxy/65535/'))).not.toBe(400)
  })

  /** Ways to write a port that is not ours to reach, or no port at all. */
  const hostilePorts = (own: number): string[] => {
    const n = String(own)
    return [
      ...[
        n,
        `0${n}`,
        `00${n}`,
        `+${n}`,
        `-${n}`,
        `${n}.0`,
        `${n}.`,
        `${n}e0`,
        `${own / 10}e1`,
        `0x${own.toString(16)}`,
      ],
      ...[
        `0X${own.toString(16)}`,
        `0o${own.toString(8)}`,
        `0b${own.toString(2)}`,
        ` ${n}`.trim() + '%20',
        `%20${n}`,
        `%09${n}`,
      ],
      ...[`%00${n}`, `${n}%00`, `${n}%23`, `${n}%3f`, `${n}%2f`, `${n}%2F..`, `..%2f${n}`, `%2e%2e%2f${n}`, `.%2f${n}`],
      ...[...n].map((digit, at) => n.slice(0, at) + `%3${digit}` + n.slice(at + 1)),
      ...[
        `${n};x=1`,
        `${n},${n}`,
        `${n}:${n}`,
        `localhost:${n}`,
        `127.0.0.1:${n}`,
        `[::1]:${n}`,
        `@${n}`,
        `x@127.0.0.1:${n}`,
      ],
      ...[
        `${own + 65_536}`,
        `${own + 131_072}`,
        `${n}0000`,
        `1_${n}`,
        `${n}_`,
        `${n}n`,
        `"${n}"`,
        `'${n}'`,
        `${n}\\`,
        `\\${n}`,
      ],
      ...[`${n}%0d%0aHost:x`, `%c0%b1${n}`, `\xb2${n}`, `${n}\xa0`],
    ]
  }
  const nothing = [
    '',
    '0',
    '00',
    '65536',
    '99999',
    '100000',
    '4294967296',
    '-1',
    'NaN',
    'Infinity',
    'undefined',
    'null',
    'true',
    '.',
    '..',
    '%2e',
    '*',
    '1.5',
    '1e3',
    'abc',
    '٣٠٠٠',
    '３０００',
  ]

  test('never proxies to the daemon, the runtime or the relay, however the port is written', async () => {
    const ours = [under.port, under.runtimePort]
    const paths = [...ours.flatMap(hostilePorts), ...nothing].flatMap((port) => [
      `/proxy/${port}`,
      `/proxy/${port}/svc/health`,
    ])
    expect(paths.length).toBeGreaterThan(200)
    const before = (await under.seen()).length
    for (const path of paths) {
      // As a request carries it: bytes, so that what is signed is what is sent.
      const sent = Buffer.from(path, 'utf8').toString('latin1')
      const answer = await send('GET', sent, [await contextLine(sent)])
      expect([path, [400, 401, 404].includes(statusOf(answer))]).toEqual([path, true])
      expect(answer).not.toContain('"daemon":"ok"')
    }
    expect((await under.seen()).length).toBe(before)
  })

  test('refuses other methods and upgrades to protected ports', async () => {
    for (const port of [`${under.port}`, `0${under.port}`, `${under.port}%00`, `${under.runtimePort}`]) {
      const path = `/proxy/${port}/svc/health`
      for (const method of ['POST', 'PUT', 'DELETE', 'OPTIONS', 'HEAD', 'PATCH']) {
        expect(statusOf(await send(method, path, [await contextLine(path, { method })]))).toBe(400)
      }
      const lines = ['Connection: Upgrade', 'Upgrade: websocket', await contextLine(path)]
      const answer = await raw(under.port, ['GET ' + path + ' HTTP/1.1', 'Host: x', ...lines, '', ''].join('\r\n'))
      expect(statusOf(answer)).toBe(400)
    }
  })

  test.each([
    '//proxy/1/',
    '/proxy',
    '/PROXY/1/',
    '/%70roxy/8000/',
    '/proxy%2f8000/',
    '/./proxy/8000/',
    '/x/../proxy/8000/svc/health',
    '/x/../svc/health',
    '//svc/health',
    '/svc%2fhealth',
    '/SVC/health',
    '/.;/svc/health',
  ])('passes %s to the runtime only with a user context', async (path) => {
    expect(statusOf(await send('GET', path))).toBe(401)
    const answer = await pass(path)
    expect(answer).not.toContain('"daemon":"ok"')
    if (path !== '/proxy') expect(answer).toContain(JSON.stringify({ path, method: 'GET' }))
  })

  test.each(['http://127.0.0.1/svc/health', 'http://evil.test/', '*', 'svc/health', '127.0.0.1:22'])(
    'refuses a request line with %s',
    async (target) => {
      expect([400, 401, 404]).toContain(statusOf(await send('GET', target, [await contextLine(target)])))
      expect(statusOf(await send('CONNECT', target, [await contextLine(target, { method: 'CONNECT' })]))).not.toBe(200)
    },
  )
})

describe('the proxy to the runtime', () => {
  test('sends none of our headers to the runtime and returns none of its own X-Svc headers', async () => {
    const path = '/header-check'
    const lines = [
      await contextLine(path),
      bearer,
      'X-Svc-Anything: 1',
      'X-Fine: yes',
      'Connection: close, X-Named',
      'X-Named: 1',
      'TE: trailers',
    ]
    const answer = await send('GET', path, lines)
    const heard = (await under.seen()).find((one) => one.url === path)!.headers
    expect(heard).toMatchObject({ host: `localhost:${under.runtimePort}`, 'x-fine': 'yes' })
    for (const name of Object.keys(heard)) expect(name).not.toMatch(/^x-svc-|^te$|^x-named$|^authorization$/)
    expect(answer.toLowerCase()).not.toContain('x-svc-evil')
    expect(answer).toContain('a=1')
    expect(answer).toContain('b=2')
  })

  test('streams bodies in both directions', async () => {
    const body = 'x'.repeat(3 * 1024 * 1024)
    const headers = { 'x-svc-user-context': await signed('/echo', { method: 'POST' }) }
    const reply = await fetch(`http://127.0.0.1:${under.port}/echo`, { method: 'POST', body, headers })
    expect((await reply.text()).length).toBe(body.length)
  })

  test('keeps a chunked body chunked, and a smuggled second request stays in the body', async () => {
    const inner = 'GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n'
    const chunked = `${inner.length.toString(16)}\r\n${inner}\r\n0\r\n\r\n`
    const whole =
      request('POST', '/echo', [await contextLine('/echo', { method: 'POST' }), 'Transfer-Encoding: chunked']) + chunked
    expect(await raw(under.port, whole, (text) => text.includes('/smuggled'))).toContain('GET /smuggled')
    expect((await under.seen()).map((one) => one.url)).not.toContain('/smuggled')
    // Also where a body is rare, and would be left on the line.
    const rare =
      request('DELETE', '/echo', [await contextLine('/echo', { method: 'DELETE' }), 'Transfer-Encoding: chunked']) +
      `${inner.length.toString(16)}\r\n${inner}\r\n0\r\n\r\n`
    expect(await raw(under.port, rare, (text) => text.includes('/smuggled'))).toContain('GET /smuggled')
  })

  test('refuses two content lengths', async () => {
    const both = ['Transfer-Encoding: chunked', 'Content-Length: 3']
    const answer = await raw(
      under.port,
      request('POST', '/echo', [await contextLine('/echo', { method: 'POST' }), ...both]) + '0\r\n\r\n',
    )
    expect(statusOf(answer)).toBe(400)
  })

  test('passes events one by one, and ends them when the reader leaves', async () => {
    const headers = { 'x-svc-user-context': await signed('/event') }
    const reply = await fetch('http://daemon/event', { unix: under.socket, headers })
    expect(reply.headers.get('content-type')).toBe('text/event-stream')
    expect(reply.headers.get('x-svc-evil')).toBeNull()
    const reader = reply.body!.getReader()
    let text = ''
    while (!text.includes('tick')) text += new TextDecoder().decode((await reader.read()).value)
    expect(text).toStartWith('data: {"type":"server.connected"}')
    await reader.cancel()
  })

  test('turns an upgrade into a raw pipe without our headers in either head', async () => {
    const path = '/socket'
    const lines = ['Connection: Upgrade', 'Upgrade: test', await contextLine(path), 'X-Fine: in']
    const text = [`GET ${path} HTTP/1.1`, 'Host: x', ...lines, '', 'early bytes'].join('\r\n')
    const answer = await raw(under.port, text, (sofar) => sofar.includes('early bytes'))
    expect(statusOf(answer)).toBe(101)
    expect(answer).toEndWith('early bytes')
    expect(answer).toContain('X-Fine: 1')
    expect(answer.toLowerCase()).not.toContain('x-svc-evil')
    const heard = (await under.seen()).find((one) => one.method === 'UPGRADE' && one.url === path)!.headers
    expect(heard).toMatchObject({ upgrade: 'test', 'x-fine': 'in', host: `localhost:${under.runtimePort}` })
    expect(Object.keys(heard).filter((name) => name.startsWith('x-svc-'))).toEqual([])
  })

  test('passes on a refused upgrade, and refuses one without a user context itself', async () => {
    const upgrade = (lines: string[]) =>
      raw(
        under.port,
        ['GET /refuse HTTP/1.1', 'Host: x', 'Connection: Upgrade', 'Upgrade: test', ...lines, '', ''].join('\r\n'),
      )
    const answer = await upgrade([await contextLine('/refuse')])
    expect(statusOf(answer)).toBe(403)
    expect(answer).toEndWith('no')
    expect(answer.toLowerCase()).not.toContain('x-svc-evil')
    expect(statusOf(await upgrade([]))).toBe(401)
  })

  test("answers 502 when the runtime's reply breaks off", async () => {
    const answer = await pass('/cut')
    expect(statusOf(answer)).toBe(502)
    expect(answer).toContain('"code":"bad_answer"')
  })
})
