/** The PROXY protocol on the real listener, with raw sockets. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { IncomingMessage } from 'node:http'
import { connect, type Socket } from 'node:net'
import { buildApp } from '../../app.ts'
import { ConfigError, parseConfig } from '../../config.ts'
import { type NetworkConfig, type NetworkLimits, readNetwork } from '../../config/network.ts'
import { Settings } from '../../config/settings.ts'
import { Listener } from '../../listen.ts'
import { until } from '../../sessions/testing.ts'
import { makeTestApp, type TestApp } from '../../testing.ts'
import { addressOf } from './client-address.ts'
import type { IngressHandler } from '../ingress.ts'
import { parseProxyHeader } from './proxy-protocol.ts'

let app: TestApp
const closers: (() => Promise<void>)[] = []
beforeAll(async () => {
  app = await makeTestApp()
}, 120_000)
afterAll(async () => {
  for (const close of closers.toReversed()) await close()
  await app.close()
})

let unread: IncomingMessage | null = null

/** Answers `/size` with the address and the bytes of the body, leaves `/unread` open, and echoes upgrades. */
const probe: IngressHandler = {
  takes: (request) => ['/size', '/unread', '/echo'].includes(request.url ?? ''),
  async request(request, response) {
    if (request.url === '/unread') {
      unread = request
      return
    }
    let bytes = 0
    for await (const chunk of request) bytes += (chunk as Buffer).length
    response.end(`<${addressOf(request)} ${bytes}>`)
  },
  async upgrade(request, socket, head) {
    socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n')
    socket.write(`<${addressOf(request)}>`)
    socket.write(head)
    socket.pipe(socket)
  },
}

interface Started {
  port: number
  refused: string[]
  listener: Listener
}

async function start(limits: Partial<NetworkLimits> = {}, proxies = '127.0.0.1'): Promise<Started> {
  const env = { SVC_TRUSTED_PROXIES: proxies, SVC_PROXY_PROTOCOL: '1' }
  const read = readNetwork(new Settings(env))
  const network: NetworkConfig = { ...read, limits: { ...read.limits, ...limits } }
  const served = buildApp({ ...app.deps, config: { ...app.deps.config, network } })
  const refused: string[] = []
  const listener = new Listener({ fromSandbox: false, network, onRefused: (reason) => void refused.push(reason) })
  const port = await listener.onPort('127.0.0.1', 0)
  listener.answerWith((request, env) => served.fetch(request, env), [probe])
  closers.push(() => listener.close())
  return { port, refused, listener }
}

interface Raw {
  socket: Socket
  text: string
  isClosed: boolean
}

function open(port: number, bytes: (string | Buffer)[], localAddress = '127.0.0.1'): Raw {
  const raw: Raw = { socket: connect({ port, host: '127.0.0.1', localAddress }), text: '', isClosed: false }
  raw.socket.on('data', (chunk) => (raw.text += chunk.toString('latin1')))
  raw.socket.on('error', () => {})
  raw.socket.on('close', () => (raw.isClosed = true))
  raw.socket.on('connect', () => bytes.forEach((each) => raw.socket.write(each)))
  closers.push(async () => void raw.socket.destroy())
  return raw
}

const get = (path: string, ...lines: string[]) =>
  [`GET ${path} HTTP/1.1`, 'Host: 127.0.0.1', ...lines, '', ''].join('\r\n')
const answered = (raw: Raw, text: string) => until(`it has ${text}`, async () => raw.text.includes(text))
const line = (client: string) => `PROXY TCP4 ${client} 192.0.2.1 4711 443\r\n`

function binary(client: number[], family: number, options: { command?: number; extensions?: number } = {}): Buffer {
  const rest = [...client, ...client.map(() => 0), 0x12, 0x67, 0x01, 0xbb]
  const body = Buffer.concat([Buffer.from(rest), Buffer.alloc(options.extensions ?? 0, 4)])
  const length = Buffer.alloc(2)
  length.writeUInt16BE(body.length)
  const start = Buffer.from(`\r\n\r\n\0\r\nQUIT\n`, 'latin1')
  return Buffer.concat([start, Buffer.from([options.command ?? 0x21, family]), length, body])
}
const v4 = [198, 51, 100, 9]
const v6 = [0x20, 0x01, 0x0d, 0xb8, ...Array<number>(11).fill(0), 7]
const mapped = [...Array<number>(10).fill(0), 255, 255, ...v4]

const headers: [string, string | Buffer, string][] = [
  ['a v1 line', line('198.51.100.9'), '198.51.100.9'],
  ['a v1 line of IPv6', 'PROXY TCP6 2001:DB8:0::7 2001:db8::1 4711 443\r\n', '2001:db8::7'],
  ['a v1 line without a client', 'PROXY UNKNOWN\r\n', '127.0.0.1'],
  ['a v1 line whose addresses do not count', 'PROXY UNKNOWN 203.0.113.1 ::1 1 2\r\n', '127.0.0.1'],
  ['a v2 header', binary(v4, 0x11), '198.51.100.9'],
  ['a v2 header of IPv6', binary(v6, 0x21), '2001:db8::7'],
  ['a v2 header of a mapped address', binary(mapped, 0x21), '198.51.100.9'],
  ['a v2 header with extensions', binary(v4, 0x11, { extensions: 900 }), '198.51.100.9'],
  ['a v2 header of a health check', binary(v4, 0x11, { command: 0x20 }), '127.0.0.1'],
  ['a v2 header of a health check without addresses', binary([], 0x00, { command: 0x20 }), '127.0.0.1'],
  ['a v2 header of UDP', binary(v4, 0x12), '127.0.0.1'],
  ['a v2 header of a unix socket', binary(Array<number>(108).fill(97), 0x31), '127.0.0.1'],
]

describe('the client address behind a balancer', () => {
  test.each(headers)('is read from %s', async (_name, header, address) => {
    const { port } = await start()
    // A forwarding header that the client writes does not count.
    const request = get('/size', 'X-Forwarded-For: 203.0.113.77', 'Forwarded: for=203.0.113.77')
    const whole = Buffer.concat([Buffer.from(header), Buffer.from(request)])
    const together = open(port, [whole])
    await answered(together, `<${address} 0>`)
    const apart = open(port, [])
    apart.socket.setNoDelay(true)
    for (const byte of whole) {
      apart.socket.write(Buffer.from([byte]))
      await new Promise((resolve) => setImmediate(resolve))
    }
    await answered(apart, `<${address} 0>`)
  })

  test('is read from X-Forwarded-For when the PROXY header names another trusted proxy', async () => {
    const { port } = await start({}, '127.0.0.1, 10.0.0.0/8')
    const request = get('/size', 'X-Forwarded-For: 203.0.113.77, 198.51.100.9')
    await answered(open(port, [line('10.1.2.3'), request]), '<198.51.100.9 0>')
    await answered(open(port, [line('11.1.2.3'), request]), '<11.1.2.3 0>')
  })

  test('is written into the audit log', async () => {
    const { port } = await start()
    const body = JSON.stringify({ name: 'behind a balancer' })
    const lines = [`Authorization: Bearer ${app.ownerToken}`, 'Content-Type: application/json']
    const request = get('/v1/projects', ...lines, `Content-Length: ${body.length}`).replace('GET', 'POST')
    await answered(open(port, [binary(v6, 0x21), request, body]), '201 Created')
    const row = await app.deps.db
      .selectFrom('audit_events')
      .select('address')
      .where('action', '=', 'project.create')
      .orderBy('at', 'desc')
      .executeTakeFirstOrThrow()
    expect(row.address).toBe('2001:db8::7')
  })
})

describe('refused connections', () => {
  test.each<[string, string | Buffer]>([
    ['without a header', get('/size')],
    ['with a header of TLS', Buffer.from([0x16, 3, 1, 2, 0])],
    ['with an address that is none', line('198.51.100.999')],
    ['with an address of the other family', line('2001:db8::7')],
    ['with a zone', 'PROXY TCP6 fe80::1%lo fe80::2 1 2\r\n'],
    ['with a port that is none', line('198.51.100.9').replace('4711', '65536')],
    ['with two spaces', line('198.51.100.9').replace('TCP4 ', 'TCP4  ')],
    ['with a bare line feed', line('198.51.100.9').replace('\r', '')],
    ['with an endless line', `PROXY UNKNOWN ${'a'.repeat(200)}`],
    ['with version 3', binary(v4, 0x11, { command: 0x31 })],
    ['with a command that is none', binary(v4, 0x11, { command: 0x22 })],
    ['with a family that is none', binary(v4, 0x41)],
    ['with too few bytes of addresses', binary([1, 2], 0x11)],
    ['with a header of 5000 bytes', binary(v4, 0x11, { extensions: 5000 })],
  ])('ends a connection without a reply: %s', async (_name, bytes) => {
    const { port, refused } = await start()
    const raw = open(port, [bytes, get('/size')])
    await until('it ends', async () => raw.isClosed)
    expect(raw.text).toBe('')
    expect(refused).toEqual([expect.stringContaining('127.0.0.1 sent no PROXY header')])
    await answered(open(port, [line('198.51.100.9'), get('/size')]), '<198.51.100.9 0>')
  })

  test('ends connections of an untrusted peer, with or without a header', async () => {
    const { port, refused } = await start()
    for (const bytes of [line('198.51.100.9') + get('/size'), get('/size')]) {
      const raw = open(port, [bytes], '127.0.0.2')
      await until('it ends', async () => raw.isClosed)
      expect(raw.text).toBe('')
    }
    expect(refused).toEqual([expect.stringContaining('127.0.0.2 is not a trusted proxy')])
  })

  test('ends a connection whose header or request is too slow', async () => {
    const { port } = await start({ headersMs: 300 })
    for (const bytes of ['', 'PROXY TCP4 ', line('198.51.100.9'), `${line('198.51.100.9')}GET /size HTT`]) {
      const raw = open(port, [bytes])
      await until('it ends', async () => raw.isClosed)
      expect(raw.text).toBe('')
    }
  })

  test('ends a connection that closes within its header', async () => {
    const { port, refused } = await start()
    const raw = open(port, ['PROXY TCP4 '])
    raw.socket.on('connect', () => raw.socket.end())
    await until('it ends', async () => raw.isClosed)
    expect(refused).toHaveLength(1)
  })
})

describe('connections with a PROXY header', () => {
  test('serves several requests on one connection', async () => {
    const { port } = await start()
    const raw = open(port, [line('198.51.100.9') + get('/size') + get('/v1/health')])
    await answered(raw, '"status"')
    raw.socket.write(get('/size', 'Content-Length: 3'))
    raw.socket.write('abc')
    await answered(raw, '<198.51.100.9 3>')
    expect(raw.text).toContain('<198.51.100.9 0>')
  })

  test('passes a WebSocket in both directions', async () => {
    const { port } = await start()
    const lines = ['Connection: Upgrade', 'Upgrade: websocket', 'Sec-WebSocket-Version: 13', 'Sec-WebSocket-Key: YQ==']
    const raw = open(port, [binary(v4, 0x11), get('/echo', ...lines)])
    await answered(raw, '<198.51.100.9>')
    raw.socket.write('hello through the balancer')
    await answered(raw, 'hello through the balancer')
  })

  test('receives a body of 5 MB completely', async () => {
    const { port } = await start()
    const body = Buffer.alloc(5_000_000, 'x')
    const request = Buffer.from(get('/size', `Content-Length: ${body.length}`))
    const raw = open(port, [Buffer.concat([binary(v4, 0x11), request, body])])
    await answered(raw, `<198.51.100.9 ${body.length}>`)
  })

  test('applies backpressure to a body that the server does not read', async () => {
    const { port } = await start()
    const bytes = 64 * 1024 * 1024
    const raw = open(port, [line('198.51.100.9'), get('/unread', `Content-Length: ${bytes}`)])
    await until('the request is here', async () => unread !== null)
    let written = 0
    const piece = Buffer.alloc(1024 * 1024)
    const write = () => {
      while (written < bytes) {
        written += piece.length
        if (!raw.socket.write(piece)) return void raw.socket.once('drain', write)
      }
    }
    write()
    await until('the server has its share', async () => unread!.readableLength >= 64 * 1024)
    // Another connection completes many requests, in which time the whole body could arrive.
    const other = open(port, [line('198.51.100.9'), get('/size')])
    await answered(other, '<198.51.100.9 0>')
    for (let turn = 0; turn < 40; turn++) {
      other.text = ''
      other.socket.write(get('/size'))
      await answered(other, '<198.51.100.9 0>')
    }
    expect(unread!.readableLength).toBeLessThan(8 * 1024 * 1024)
    unread!.destroy()
  }, 120_000)

  test('cuts off a stalled body with 408', async () => {
    const { port } = await start({ bodyIdleMs: 300, bodyBytesPerSecond: 0 })
    const lines = [`Authorization: Bearer ${app.ownerToken}`, 'Content-Length: 100']
    const raw = open(port, [line('198.51.100.9'), get('/v1/projects', ...lines).replace('GET', 'POST'), '{"name":'])
    await until('it is cut', async () => raw.isClosed)
    expect(raw.text).toContain('HTTP/1.1 408')
  })

  test('ends a connection without a next request, and one with slow headers', async () => {
    const { port, listener } = await start()
    listener.server.keepAliveTimeout = 300
    const idle = open(port, [line('198.51.100.9'), get('/size')])
    const slow = open(port, [line('198.51.100.9'), get('/size')])
    await answered(slow, '<198.51.100.9 0>')
    const drip = setInterval(() => slow.socket.writable && slow.socket.write('X'), 50)
    await until('both end', async () => idle.isClosed && slow.isClosed)
    clearInterval(drip)
  })

  test('limits connections per client, not per balancer', async () => {
    const { port } = await start({ connectionsPerAddress: 2 })
    const kept = [1, 2].map(() => open(port, [line('198.51.100.9'), get('/size')]))
    for (const each of kept) await answered(each, '<198.51.100.9 0>')
    const third = open(port, [line('198.51.100.9'), get('/size')])
    await until('the third ends', async () => third.isClosed)
    expect(third.text).toBe('')
    await answered(open(port, [line('198.51.100.10'), get('/size')]), '<198.51.100.10 0>')
    kept[0]!.socket.destroy()
    await until('its place is free', async () => {
      const again = open(port, [line('198.51.100.9'), get('/size')])
      await until('it is over', async () => again.isClosed || again.text !== '')
      return again.text !== ''
    })
  })

  test('closing the server ends idle connections and those without a header, and lets requests end', async () => {
    const { port, listener } = await start()
    const [idle, silent] = [open(port, [line('198.51.100.9'), get('/size')]), open(port, ['PROXY '])]
    const busy = open(port, [line('198.51.100.9'), get('/size', 'Content-Length: 3', 'Expect: 100-continue')])
    await answered(idle, '<198.51.100.9 0>')
    await answered(busy, '100 Continue')
    const closed = listener.close()
    await until('both end', async () => idle.isClosed && silent.isClosed)
    expect(busy.isClosed).toBe(false)
    busy.socket.write('abc')
    await answered(busy, '<198.51.100.9 3>')
    await closed
    await until('it ends', async () => busy.isClosed)
  })
})

test('a PROXY header is complete with its last byte and no earlier', () => {
  for (const [name, header] of headers) {
    const bytes = Buffer.from(header)
    for (let length = 0; length < bytes.length; length++)
      expect([name, length, parseProxyHeader(bytes.subarray(0, length))]).toEqual([name, length, null])
    expect(parseProxyHeader(Buffer.concat([bytes, Buffer.from('GET /')]))?.bytes).toBe(bytes.length)
  }
})

test('SVC_PROXY_PROTOCOL needs SVC_TRUSTED_PROXIES', () => {
  const parse = (env: Record<string, string>) => parseConfig(env).network.proxyProtocol
  expect(() => parse({ SVC_PROXY_PROTOCOL: '1' })).toThrow(ConfigError)
  expect(() => parse({ SVC_PROXY_PROTOCOL: '1' })).toThrow(/needs SVC_TRUSTED_PROXIES/)
  expect(() => parse({ SVC_PROXY_PROTOCOL: 'v2', SVC_TRUSTED_PROXIES: 'loopback' })).toThrow(/must be 1 or 0/)
  expect(parse({ SVC_PROXY_PROTOCOL: '1', SVC_TRUSTED_PROXIES: 'loopback' })).toBe(true)
  expect([parse({}), parse({ SVC_PROXY_PROTOCOL: '0' })]).toEqual([false, false])
})
