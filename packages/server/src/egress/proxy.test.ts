/** The egress proxy over its socket. Canaries listen on loopback; all other addresses are checked but never dialed. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdtemp, rm } from 'node:fs/promises'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { closedNetwork } from '@svc/git'
import pino from 'pino'
import { Settings } from '../config/settings.ts'
import type { DialPolicy } from './dial.ts'
import { makeEgressGate } from './gate.ts'
import type { ProxyLimits } from './proxy.ts'

let folder: string
let canary: Server
let port: number
/** The request lines that reached a canary. */
const heard: string[] = []
const closers: (() => Promise<void>)[] = []

/** The names of this test and their addresses. Only `*.canary.test` may resolve to this machine. */
const names: Record<string, string[]> = {
  'open.canary.test': ['127.0.0.1'],
  'other.canary.test': ['127.0.0.1'],
  'inside.test': ['10.1.2.3'],
  'metadata.test': ['169.254.169.254'],
  'rebinding.test': ['203.0.114.7', '127.0.0.1'],
  'loopback.test': ['127.0.0.1'],
  'mapped.test': ['::ffff:127.0.0.1'],
  'sixtofour.test': ['2002:7f00:1::1'],
  'translated.test': ['64:ff9b::a00:1'],
}
const policy = (host: string): DialPolicy => ({
  resolve: async (name) => names[name] ?? [],
  // A production policy never allows this machine; the test does for one host.
  closed: (address) => (host.endsWith('.canary.test') && address === '127.0.0.1' ? null : closedNetwork(address)),
})

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-egress-'))
  canary = createServer({ allowHalfOpen: true }, (socket) => {
    socket.on('error', () => {})
    socket.once('data', (chunk: Buffer) => {
      heard.push(chunk.toString('latin1'))
      if (chunk.toString('latin1').startsWith('GET')) socket.end('HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello')
      else if (chunk.toString('latin1').startsWith('PUT')) {
        socket.write('HTTP/1.1 100 Continue\r\n\r\nHTTP/1.')
        socket.once('data', () => socket.end('1 201 Created\r\ncontent-length: 0\r\n\r\n'))
      } else socket.pipe(socket)
    })
  })
  await new Promise<void>((resolve) => canary.listen(0, '127.0.0.1', resolve))
  port = (canary.address() as { port: number }).port
})
afterAll(async () => {
  for (const close of closers) await close()
  canary.close()
  await rm(folder, { recursive: true, force: true })
})

let serial = 0
/** The egress of one sandbox, with the list of its refusals. */
async function way(
  patterns: string[],
  options: { operator?: string; limits?: Partial<ProxyLimits>; host?: string } = {},
): Promise<{
  path: string
  refused: { host: string; port: number }[]
  allow(patterns: string[]): void
  close(): Promise<void>
}> {
  const { readSandboxes } = await import('../config/sandboxes.ts')
  const refused: { host: string; port: number }[] = []
  const log = pino({ level: 'warn' }, { write: (line) => void refused.push(JSON.parse(line) as (typeof refused)[0]) })
  const gate = makeEgressGate({
    folder: join(folder, 'ways'),
    operator: readSandboxes(new Settings({ SVC_EGRESS: options.operator })).egress,
    log,
    dial: policy(options.host ?? 'open.canary.test'),
    ...(options.limits === undefined ? {} : { limits: options.limits }),
  })
  const id = `sandbox-${++serial}`
  const path = (await gate.open(id, patterns, { project_id: 'p' }))!
  const close = () => gate.close(id)
  closers.push(close)
  return { path, refused, allow: (next) => gate.allow(id, next), close }
}

/** Returns the complete response to these bytes. */
function say(path: string, text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let answer = ''
    const socket = connect({ path, allowHalfOpen: true }, () => socket.write(text, 'latin1'))
    socket.on('data', (chunk: Buffer) => (answer += chunk.toString('latin1')))
    socket.on('end', () => {
      socket.destroy()
      resolve(answer)
    })
    socket.on('close', () => resolve(answer))
    // A connection that is cut during setup gets no response.
    socket.on('error', (error: NodeJS.ErrnoException) =>
      error.code === 'ECONNRESET' ? resolve(answer) : reject(error),
    )
  })
}

const tunnel = (host: string, at = 443) => `CONNECT ${host}:${at} HTTP/1.1\r\nHost: ${host}\r\n\r\n`

describe('allowed hosts', () => {
  test('tunnels bytes in both directions and closes each direction separately', async () => {
    const { path } = await way([`open.canary.test:${port}`])
    const socket = await new Promise<Socket>((resolve) => {
      const made: Socket = connect({ path, allowHalfOpen: true }, () => resolve(made))
    })
    let answer = ''
    socket.on('data', (chunk: Buffer) => (answer += chunk.toString()))
    // Bytes after the request head go to the host.
    socket.write(`${tunnel('open.canary.test', port)}echo this`)
    const deadline = Date.now() + 45_000
    while (!answer.includes('\r\n\r\n') && Date.now() < deadline) await Bun.sleep(2)
    socket.end(' and that')
    await new Promise((resolve) => socket.on('close', resolve))
    const [head, body] = answer.split('\r\n\r\n')
    expect(head).toBe('HTTP/1.1 200 Connection Established')
    expect(heard.at(-1)).toBe('echo this')
    expect(body).toBe(' and that')
  })

  test('forwards plain http without the headers for the proxy', async () => {
    const { path } = await way([`*.canary.test:${port}`])
    const asked = `GET http://open.canary.test:${port}/a?b=c HTTP/1.1\r\nHost: evil.test\r\nProxy-Authorization: Basic eA==\r\nProxy-Connection: keep-alive\r\nAccept: */*\r\n\r\n`
    expect(await say(path, asked)).toEndWith('hello')
    expect(heard.at(-1)).toBe(
      `GET /a?b=c HTTP/1.1\r\nHost: open.canary.test:${port}\r\nAccept: */*\r\nConnection: close\r\n\r\n`,
    )
  })

  test('says that a connection is for one request, also when the host does not', async () => {
    const { path } = await way([`*.canary.test:${port}`])
    const at = `http://open.canary.test:${port}/a HTTP/1.1\r\n`
    expect(await say(path, `GET ${at}\r\n`)).toBe(
      'HTTP/1.1 200 OK\r\nConnection: close\r\ncontent-length: 5\r\n\r\nhello',
    )
    const socket = await new Promise<Socket>((resolve) => {
      const made: Socket = connect(path, () => resolve(made))
    })
    let answer = ''
    socket.on('data', (chunk: Buffer) => {
      answer += chunk.toString()
      if (answer.endsWith('100 Continue\r\n\r\n')) socket.write('x')
    })
    socket.write(`PUT ${at}Content-Length: 1\r\nExpect: 100-continue\r\n\r\n`)
    await new Promise((resolve) => socket.on('close', resolve))
    expect(answer).toBe(
      'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 201 Created\r\nConnection: close\r\ncontent-length: 0\r\n\r\n',
    )
  })
})

describe('a list that changes while the sandbox runs', () => {
  test('applies the new list at once, and ends tunnels to hosts that it no longer has', async () => {
    const { path, allow } = await way([`open.canary.test:${port}`])
    const socket = await new Promise<Socket>((resolve) => {
      const made: Socket = connect({ path, allowHalfOpen: true }, () => resolve(made))
    })
    const closed = new Promise((resolve) => socket.on('close', resolve))
    socket.on('end', () => socket.destroy())
    const isOpen = new Promise((resolve) => socket.once('data', resolve))
    socket.write(tunnel('open.canary.test', port))
    await isOpen
    expect(await say(path, `GET http://other.canary.test:${port}/ HTTP/1.1\r\n\r\n`)).toContain('403 Forbidden')
    allow([`other.canary.test:${port}`])
    await closed
    expect(await say(path, `GET http://other.canary.test:${port}/ HTTP/1.1\r\n\r\n`)).toEndWith('hello')
    expect(await say(path, tunnel('open.canary.test', port))).toContain('403 Forbidden')
  })
})

describe('refused hosts', () => {
  test('explains a refusal, and logs it once per host', async () => {
    const { path, refused } = await way(['@packages'])
    const said = await say(path, tunnel('evil.example.com'))
    expect(said).toStartWith('HTTP/1.1 403 Forbidden\r\n')
    expect(said).toEndWith(
      'svc: evil.example.com:443 is blocked by the project\'s egress list. Add "evil.example.com" to egress under [sandbox] in svc.toml with a change request; after its merge, sandboxes can reach it within seconds.\n',
    )
    await say(path, tunnel('evil.example.com'))
    expect(await say(path, `GET http://open.canary.test:${port}/ HTTP/1.1\r\n\r\n`)).toContain('403 Forbidden')
    expect(refused).toMatchObject([
      { host: 'evil.example.com', port: 443, sandbox_id: `sandbox-${serial}`, project_id: 'p' },
      { host: 'open.canary.test', port },
    ])
  })

  test('the operator can limit the hosts of a project, down to none', async () => {
    const { path } = await way(['*', `*:${port}`], { operator: '@packages' })
    expect(await say(path, tunnel('open.canary.test', port))).toContain('blocked by the operator of this server')
    const { readSandboxes } = await import('../config/sandboxes.ts')
    const { egress } = readSandboxes(new Settings({ SVC_EGRESS: 'none' }))
    const gate = makeEgressGate({ folder, operator: egress, log: pino({ level: 'silent' }) })
    expect(await gate.open('x', ['*'], {})).toBeNull()
  })
})

describe('private networks stay closed, whatever the lists have', () => {
  const hosts = [
    ...Object.keys(names).filter((name) => !name.endsWith('.canary.test')),
    ...['127.0.0.1', '10.0.0.1', '172.16.0.1', '192.168.1.1', '169.254.169.254', '100.64.0.1', '0.0.0.0'],
    ...['[::1]', '[::]', '[::ffff:127.0.0.1]', '[::ffff:7f00:1]', '[::127.0.0.1]', '[fe80::1]', '[fd00::1]'],
    ...['[64:ff9b::7f00:1]', '[2002:7f00:1::]', '[2001:0:0:0:0:0:80ff:fffe]', '255.255.255.255', '224.0.0.1'],
  ]
  test.each(hosts)('refuses the address %s', async (host) => {
    const before = heard.length
    const { path, refused } = await way(['*', `*:${port}`], { host: 'inside.test' })
    for (const text of [tunnel(host, port), `GET http://${host}:${port}/ HTTP/1.1\r\n\r\n`]) {
      const said = await say(path, text)
      expect(said).toStartWith('HTTP/1.1 403 Forbidden\r\n')
      expect(said).toContain('Sandboxes cannot reach private addresses')
    }
    expect(refused).toHaveLength(1)
    expect(heard.length).toBe(before)
  })

  test.each([
    '0x7f000001',
    '2130706433',
    '0177.0.0.1',
    '127.1',
    'a b',
    'x@127.0.0.1',
    '[::1%25lo]',
    '127.0.0.1%00.test',
  ])('refuses the spelling %j of an address', async (host) => {
    const { path } = await way(['*', `*:${port}`], { host: 'inside.test' })
    expect(await say(path, tunnel(host, port))).toStartWith('HTTP/1.1 400 Bad Request\r\n')
  })
})

describe('invalid proxy requests', () => {
  test.each([
    ['GET / HTTP/1.1\r\n\r\n'],
    ['GET https://open.canary.test/ HTTP/1.1\r\n\r\n'],
    ['GET ftp://open.canary.test/ HTTP/1.1\r\n\r\n'],
    ['CONNECT open.canary.test HTTP/1.1\r\n\r\n'],
    ['CONNECT open.canary.test:0 HTTP/1.1\r\n\r\n'],
    ['CONNECT open.canary.test:99999 HTTP/1.1\r\n\r\n'],
    ['CONNECT open.canary.test:443 HTTP/1.0.0\r\n\r\n'],
    ['GET http://open.canary.test/ HTTP/1.1\r\nBad Header: x\r\n\r\n'],
    ['GET http://open.canary.test/ HTTP/1.1\r\nX: a\rb\r\n\r\n'],
    ['GET http://open.canary.test/ HTTP/1.1\r\n folded: x\r\n\r\n'],
    ['\x16\x03\x01\x02\r\n\r\n'],
  ])('refuses the request %j', async (text) => {
    const { path } = await way(['*'])
    expect(await say(path, text)).toStartWith('HTTP/1.1 400 Bad Request\r\n')
  })

  test('limits the length of a request head', async () => {
    const { path } = await way(['*'])
    expect(await say(path, `GET http://x.test/ HTTP/1.1\r\nX: ${'a'.repeat(40_000)}`)).toBe('')
    const slow = await way(['*'], { limits: { headMs: 50 } })
    expect(await say(slow.path, 'GET http://x.test/ HTTP/1.1\r\n')).toBe('')
  })
})

describe('limits of the proxy', () => {
  test('refuses a connection over the limit and asks to retry', async () => {
    const { path } = await way([`*:${port}`], { limits: { connectionsMax: 2 } })
    const held = await Promise.all(
      [1, 2].map(
        () =>
          new Promise<Socket>((resolve) => {
            const socket: Socket = connect(path, () => socket.write(tunnel('open.canary.test', port)))
            socket.once('data', () => resolve(socket))
          }),
      ),
    )
    expect(await say(path, tunnel('open.canary.test', port))).toStartWith('HTTP/1.1 429 ')
    for (const socket of held) socket.destroy()
  })

  test('ends a connection that is idle or exceeds its bytes', async () => {
    const idle = await way([`*:${port}`], { limits: { idleMs: 50 } })
    expect(await say(idle.path, tunnel('open.canary.test', port))).toContain('200 Connection Established')
    const small = await way([`*:${port}`], { limits: { bytesMax: 1000 } })
    const answer = await say(small.path, `${tunnel('open.canary.test', port)}x${'y'.repeat(5000)}`)
    expect(answer.length).toBeLessThan(1200)
  })

  test('closing the proxy ends its connections and removes its socket', async () => {
    const { path, close } = await way([`*:${port}`])
    const socket: Socket = connect(path, () => socket.write(tunnel('open.canary.test', port)))
    socket.on('error', () => {})
    await new Promise((resolve) => socket.once('data', resolve))
    const ended = new Promise((resolve) => socket.once('close', resolve))
    await close()
    await ended
    expect(await Bun.file(path).exists()).toBeFalse()
  })
})

test('distinguishes an unreachable host from a refused one', async () => {
  const { path } = await way(['*', '*:1'])
  expect(await say(path, tunnel('nowhere.canary.test'))).toContain('could not be resolved')
  expect(await say(path, tunnel('open.canary.test', 1))).toStartWith('HTTP/1.1 502 Bad Gateway')
})
