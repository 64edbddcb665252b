/** Requests that only a raw socket can send: paths no client would send, bodies without an end, duplicate headers. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { connect } from 'node:net'
import { Hono } from 'hono'
import { buildApp } from '../../app.ts'
import { Listener } from '../../listen.ts'
import { makeTestApp, type TestApp } from '../../testing.ts'
import type { Bindings } from '../request-info.ts'
import { requestLog } from '../request-log.ts'

let app: TestApp
let port: number
let bound: string
let own: string
let other: string
const door = new Listener({ fromSandbox: false })
const relay = new Listener({ fromSandbox: true })
let relayPort: number
beforeAll(async () => {
  app = await makeTestApp()
  const { project } = await app.managedProject()
  own = project.project_id
  other = (await app.managedProject()).project.project_id
  bound = (await app.makeSession(project)).token
  const served = buildApp(app.deps)
  port = await door.onPort('127.0.0.1', 0)
  relayPort = await relay.onPort('127.0.0.1', 0)
  for (const listener of [door, relay]) listener.answerWith((request, env) => served.fetch(request, env))
}, 120_000)
afterAll(async () => {
  await Promise.all([door.close(), relay.close()])
  await app.close()
})

/** Sends the lines unchanged and reads until the other side closes or the response is complete. */
function say(
  lines: string[],
  options: { to?: number; at?: string; body?: (write: (text: string) => boolean) => void; asked?: string } = {},
): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(options.to ?? port, options.at ?? '127.0.0.1')
    let text = ''
    socket.setTimeout(20_000, () => socket.destroy(new Error(`No answer to ${lines[0]}`)))
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1')
      if (options.asked !== undefined && text === 'HTTP/1.1 100 Continue\r\n\r\n') socket.write(options.asked)
    })
    // A server that refuses a body may close before all of it is sent: its response until then counts.
    socket.on('error', (error) => (text === '' ? reject(error) : resolve(text)))
    socket.on('close', () => resolve(text))
    socket.write(`${lines.join('\r\n')}\r\n\r\n`)
    options.body?.((more) => !socket.destroyed && socket.write(more))
  })
}

const statusOf = (answer: string) => Number(/^HTTP\/1\.1 (\d{3})/.exec(answer)?.[1])
const get = (path: string, token: string, more: string[] = []) =>
  say([`GET ${path} HTTP/1.1`, 'Host: 127.0.0.1', `Authorization: Bearer ${token}`, ...more, 'Connection: close'])

describe('unusual paths', () => {
  test('a project token reaches only its own project with any path', async () => {
    expect(statusOf(await get(`/v1/projects/${own}`, bound))).toBe(200)
    for (const path of [
      `/v1/projects/${own}/../${other}`,
      `/v1/projects/${own}/../${other}/sessions`,
      `/v1/projects/${own}/%2e%2e/${other}/sessions`,
      `/v1/projects/${own}/..%2f${other}/sessions`,
      `/v1/projects/${own}/sessions/../../${other}/sessions`,
      `/v1/%70rojects/${other}/sessions`,
      `/v1/projects/./${other}/sessions`,
      `/v1/projects//${other}/sessions`,
      `/v1/projects/${other}%00/sessions`,
      `/v1/projects/${own}\\..\\${other}/sessions`,
      `//127.0.0.1/v1/projects/${other}/sessions`,
      `http://127.0.0.1/v1/projects/${other}/sessions`,
      `http://127.0.0.1/v1/projects/${own}/../${other}/sessions`,
      `/v1/projects/${own}/../../accounts/me`,
      `/v1/projects/${other}/sessions?x=/v1/projects/${own}`,
      `/v1/projects/${other};/v1/projects/${own}/sessions`,
    ]) {
      const status = statusOf(await get(path, bound))
      expect([path, [400, 403, 404].includes(status), status]).toEqual([path, true, status])
    }
  })

  test('refuses a path with invalid bytes without failing', async () => {
    for (const path of ['/v1/projects/\xff\xfe', '/v1/projects/%', '/v1/projects/%zz', `/${'a'.repeat(12_000)}`, '*'])
      expect([path.slice(0, 20), statusOf(await get(path, app.ownerToken)) < 500]).toEqual([path.slice(0, 20), true])
  })
})

describe('repeated headers', () => {
  test('refuses two different credentials', async () => {
    const twice = await say([
      ...['GET /v1/accounts/me HTTP/1.1', 'Host: 127.0.0.1', `Authorization: Bearer ${bound}`],
      ...[`Authorization: Bearer ${app.ownerToken}`, 'Connection: close'],
    ])
    expect([401, 403]).toContain(statusOf(twice))
  })

  test('refuses different lengths, and a length together with chunks', async () => {
    for (const headers of [
      ['Content-Length: 2', 'Content-Length: 20'],
      ['Content-Length: 2', 'Transfer-Encoding: chunked'],
      ['Transfer-Encoding: chunked, identity'],
      ['Content-Length: +2'],
      ['Content-Length: 2, 20'],
    ]) {
      const answer = await say(
        [
          'POST /v1/projects HTTP/1.1',
          'Host: 127.0.0.1',
          `Authorization: Bearer ${app.ownerToken}`,
          ...headers,
          'Connection: close',
        ],
        { body: (write) => void write('{}') },
      )
      expect([headers, statusOf(answer)]).toEqual([headers, 400])
    }
  })
})

describe('bodies over the limit', () => {
  test('answers an endless body at the limit', async () => {
    const chunk = `10000\r\n${' '.repeat(0x10000)}\r\n`
    const answer = await say(
      [
        ...['POST /v1/projects HTTP/1.1', 'Host: 127.0.0.1', `Authorization: Bearer ${app.ownerToken}`],
        ...['Content-Type: application/json', 'Transfer-Encoding: chunked', 'Connection: close'],
      ],
      // Slightly more than 1 MiB and then nothing, not even the final chunk.
      { body: (write) => void write(chunk.repeat(16) + '1\r\n \r\n') },
    )
    expect(statusOf(answer)).toBe(413)
    expect(answer).toContain('body_too_large')
  })

  test('asks for a body that waits for it once something reads the body', async () => {
    const send = (bytes: number) =>
      say(
        [
          ...['POST /v1/projects HTTP/1.1', 'Host: 127.0.0.1', `Authorization: Bearer ${app.ownerToken}`],
          ...['Content-Type: application/json', `Content-Length: ${bytes}`],
          ...['Expect: 100-continue', 'Connection: close'],
        ],
        { asked: '[]' },
      )
    expect(await send(2)).toMatch(/^HTTP\/1.1 100 Continue\r\n\r\nHTTP\/1.1 400 /)
    expect(statusOf(await send(99_999_999))).toBe(413)
  })

  test('refuses a body whose announced length is too large before it is sent', async () => {
    const answer = await say([
      ...['POST /v1/projects HTTP/1.1', 'Host: 127.0.0.1', `Authorization: Bearer ${app.ownerToken}`],
      ...['Content-Type: application/json', 'Content-Length: 99999999', 'Connection: close'],
    ])
    expect(statusOf(answer)).toBe(413)
  })
})

describe('the Host header', () => {
  test('a probe may name the address at which its request arrives, and no other one', async () => {
    const listener = new Listener({ fromSandbox: false })
    const at = '127.0.0.3'
    const to = await listener.onPort(at, 0)
    listener.answerWith((request, env) => buildApp(app.deps).fetch(request, env))
    const ask = async (host: string) =>
      statusOf(await say(['GET /v1/ready HTTP/1.1', `Host: ${host}`, 'Connection: close'], { to, at }))
    expect([await ask(`${at}:${to}`), await ask('127.0.0.4'), await ask('evil.test')]).toEqual([200, 403, 403])
    await listener.close()
  })

  const ask = (host: string, to = port) =>
    say(['GET /v1/health HTTP/1.1', `Host: ${host}`, 'Connection: close'], { to }).then(statusOf)

  test.each(['127.0.0.1', 'localhost', 'LOCALHOST:1', '[::1]:8420', '127.0.0.1:8420'])(
    'accepts the host %s',
    async (host) => expect(await ask(host)).toBe(200),
  )

  test.each([
    ...['evil.test', 'evil.test:8420', '127.0.0.1.evil.test', 'localhost.evil.test', '127.0.0.2', '0.0.0.0', '[::2]'],
    ...['evil.test@127.0.0.1', '127.0.0.1@evil.test', 'evillocalhost', 'localhost:8420:1'],
    // The origin of a preview, which serves none of the API.
    '3000--x.localhost',
  ])('refuses the host %s', async (host) => {
    const status = await ask(host)
    expect([400, 403]).toContain(status)
  })

  test('refuses a request without a host', async () => {
    const answer = await say(['GET /v1/health HTTP/1.1', 'Connection: close'])
    expect([400, 403]).toContain(statusOf(answer))
  })

  test('a request of a sandbox comes only from its relay, not from a header', async () => {
    expect(await ask('127.0.0.1:61080', relayPort)).toBe(200)
    expect(await ask('localhost:61080', relayPort)).toBe(200)
    for (const host of ['127.0.0.1', 'evil.test', '127.0.0.1:8420', 'svc.example'])
      expect(await ask(host, relayPort)).toBe(403)
  })
})

test('refuses every request with Retry-After until the server is ready', async () => {
  const early = new Listener({ fromSandbox: false })
  const at = await early.onPort('127.0.0.1', 0)
  const answer = await say(['GET /v1/ready HTTP/1.1', 'Host: 127.0.0.1', 'Connection: close'], { to: at })
  expect(statusOf(answer)).toBe(503)
  expect(answer.toLowerCase()).toContain('retry-after: 1')
  await early.close()
})

test('reports a port in use in one line with what to do', async () => {
  const second = new Listener({ fromSandbox: false })
  await expect(second.onPort('127.0.0.1', port)).rejects.toThrow(
    /in use by another program.*SVC_PORT=8421 before the command/,
  )
})

test.each([0, 1, 2, 5])(
  'ends the connection when a reply breaks off after %d pieces, without showing the reason',
  async (pieces) => {
    const breaking = new Hono<{ Bindings: Bindings; Variables: { requestId: string } }>()
    let sent = 0
    breaking.use(requestLog(app.deps)).get('/patch', () => {
      const body = new ReadableStream<Uint8Array>({
        pull(controller) {
          if (sent++ === pieces) controller.error(new Error('words of git, with a path of this machine'))
          else controller.enqueue(Buffer.from('piece\n'))
        },
      })
      return new Response(body, { headers: { 'content-type': 'text/x-diff' } })
    })
    const listener = new Listener({ fromSandbox: false })
    const to = await listener.onPort('127.0.0.1', 0)
    listener.answerWith((request, env) => breaking.fetch(request, env))
    // Without Connection: close, as the server has to end it.
    const answer = await say(['GET /patch HTTP/1.1', 'Host: 127.0.0.1'], { to }).catch((error: Error) => error.message)
    expect(answer).not.toContain(' 500 ')
    expect(answer).not.toContain('words of git')
    expect(answer).not.toContain('\r\n0\r\n')
    await listener.close()
  },
)
