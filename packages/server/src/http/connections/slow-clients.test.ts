/** Clients that send slowly or hold connections, on the real listener with raw sockets. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { connect, type Socket } from 'node:net'
import { buildApp } from '../../app.ts'
import { type NetworkConfig, type NetworkLimits, readNetwork } from '../../config/network.ts'
import { Settings } from '../../config/settings.ts'
import { Listener } from '../../listen.ts'
import { until } from '../../sessions/testing.ts'
import { makeTestApp, type TestApp } from '../../testing.ts'

let app: TestApp
const closers: (() => Promise<void>)[] = []
beforeAll(async () => {
  app = await makeTestApp()
}, 120_000)
afterAll(async () => {
  for (const close of closers.toReversed()) await close()
  await app.close()
})

async function listen(limits: Partial<NetworkLimits>, env: Record<string, string> = {}): Promise<number> {
  const read = readNetwork(new Settings(env))
  const network: NetworkConfig = { ...read, limits: { ...read.limits, ...limits } }
  const served = buildApp({ ...app.deps, config: { ...app.deps.config, network } })
  const listener = new Listener({ fromSandbox: false, network })
  const port = await listener.onPort('127.0.0.1', 0)
  listener.answerWith((request, env) => served.fetch(request, env))
  closers.push(() => listener.close())
  return port
}

interface Raw {
  socket: Socket
  text: string
  isClosed: boolean
}

function open(port: number, ...bytes: string[]): Raw {
  const raw: Raw = { socket: connect(port, '127.0.0.1'), text: '', isClosed: false }
  raw.socket.on('data', (chunk) => (raw.text += chunk.toString('latin1')))
  raw.socket.on('error', () => {})
  raw.socket.on('close', () => (raw.isClosed = true))
  raw.socket.on('connect', () => bytes.forEach((each) => raw.socket.write(each)))
  closers.push(async () => void raw.socket.destroy())
  return raw
}

const head = (method: string, path: string, ...lines: string[]) =>
  [`${method} ${path} HTTP/1.1`, 'Host: 127.0.0.1', `Authorization: Bearer ${app.ownerToken}`, ...lines, '', ''].join(
    '\r\n',
  )
const health = (port: number) => fetch(`http://127.0.0.1:${port}/v1/health`, { headers: { connection: 'close' } })

describe('300 slow connections', () => {
  test('cuts off clients that never finish their headers, while it answers an honest client', async () => {
    const port = await listen({ headersMs: 1000 })
    const slow = Array.from({ length: 300 }, () => open(port, 'GET /v1/health HTTP/1.1\r\nHost: 127.0.0.1\r\nX: '))
    const drip = setInterval(() => slow.forEach(({ socket }) => void (socket.writable && socket.write('a'))), 100)
    expect((await health(port)).status).toBe(200)
    await until('all are cut', async () => slow.every(({ isClosed }) => isClosed))
    clearInterval(drip)
    expect((await health(port)).status).toBe(200)
  }, 120_000)

  test('makes room for an honest client when clients with slow headers reach the limit', async () => {
    const port = await listen({ headersMs: 60_000, connections: 50, connectionsPerAddress: 1000 })
    const slow = Array.from({ length: 300 }, () => open(port, 'GET /v1/health HTTP/1.1\r\n'))
    await until('the cap holds', async () => slow.filter(({ isClosed }) => isClosed).length >= 250)
    expect((await health(port)).status).toBe(200)
  }, 120_000)

  test('makes room for an honest client when idle connections reach the limit', async () => {
    const port = await listen({ connections: 50, connectionsPerAddress: 1000 })
    const idle = Array.from({ length: 50 }, () => open(port, head('GET', '/v1/health')))
    await until('all are answered', async () => idle.every(({ text }) => text.includes('HTTP/1.1 200')))
    expect((await health(port)).status).toBe(200)
    expect(idle.filter(({ isClosed }) => isClosed).length).toBeLessThan(5)
  }, 120_000)

  test('cuts off slow bodies with 408', async () => {
    const port = await listen({ bodyIdleMs: 1000, bodyBytesPerSecond: 500 })
    const request = head('POST', '/v1/projects', 'Content-Type: application/json', 'Content-Length: 100000')
    const slow = Array.from({ length: 300 }, () => open(port, request, '{'))
    const drip = setInterval(() => slow.forEach(({ socket }) => void (socket.writable && socket.write(' '))), 100)
    expect((await health(port)).status).toBe(200)
    await until('all are cut', async () => slow.every(({ isClosed }) => isClosed))
    clearInterval(drip)
    for (const { text } of slow) expect(text).toMatch(/^HTTP\/1\.1 408 [\s\S]*"code":"request_timeout"/)
  }, 120_000)
})

describe('slow bodies', () => {
  test('cuts off a stalled body with 408', async () => {
    const port = await listen({ bodyIdleMs: 300, bodyBytesPerSecond: 0 })
    const raw = open(port, head('POST', '/v1/projects', 'Content-Length: 100'), '{"name":')
    await until('it is cut', async () => raw.isClosed)
    expect(raw.text).toContain('HTTP/1.1 408')
  })

  test('ends git when the body of a push stalls', async () => {
    const { project } = await app.managedProject()
    const port = await listen({ bodyIdleMs: 300 })
    const basic = Buffer.from(`x-access-token:${app.ownerToken}`).toString('base64')
    const lines = ['Host: 127.0.0.1', `Authorization: Basic ${basic}`, 'Transfer-Encoding: chunked']
    const path = `/v1/projects/${project.project_id}/git/git-receive-pack`
    const type = 'Content-Type: application/x-git-receive-pack-request'
    const raw = open(port, [`POST ${path} HTTP/1.1`, ...lines, type, '', ''].join('\r\n'), '4\r\n00a0\r\n')
    await until('it is cut', async () => raw.isClosed)
    expect(raw.text).toContain('HTTP/1.1 408')
    expect((await health(port)).status).toBe(200)
  })

  test('limits the total time of a body that is read as a whole', async () => {
    const port = await listen({ bodyIdleMs: 60_000, bodyBytesPerSecond: 0, wholeBodyMs: 500 })
    const raw = open(port, head('POST', '/v1/projects', 'Content-Length: 1000000', 'Connection: close'))
    const drip = setInterval(() => raw.socket.writable && raw.socket.write(' '), 20)
    await until('it is refused', async () => raw.text.includes('request_timeout'))
    clearInterval(drip)
    expect(raw.text).toContain('HTTP/1.1 408')
  })

  test('closes the connection of a client that keeps sending after the reply', async () => {
    const port = await listen({ bodyIdleMs: 300 })
    const raw = open(port, head('POST', '/v1/nothing', 'Content-Length: 100'), 'a')
    await until('it is cut', async () => raw.isClosed)
    expect(raw.text).toContain('HTTP/1.1 404')
  })

  test('reads a body that makes progress to its end', async () => {
    // The whole body takes longer than the idle limit, but its first byte comes well before it.
    const port = await listen({ bodyIdleMs: 4000, bodyBytesPerSecond: 1 })
    const body = JSON.stringify({ name: 'steady' })
    const raw = open(port, head('POST', '/v1/projects', `Content-Length: ${body.length}`))
    const chars = [...body]
    const drip = setInterval(() => raw.socket.writable && raw.socket.write(chars.shift() ?? ''), 300)
    await until('it is answered', async () => raw.text !== '')
    clearInterval(drip)
    expect(raw.text).toContain('HTTP/1.1 201')
  }, 120_000)
})

describe('connections of one address', () => {
  const idle = (port: number, ...lines: string[]) => open(port, head('GET', '/v1/health', ...lines))
  const answered = (raws: Raw[]) => async () => raws.every(({ text }) => text.includes('HTTP/1.1 200'))

  test('limits the connections of one address', async () => {
    const port = await listen({ connectionsPerAddress: 5 })
    const kept = Array.from({ length: 5 }, () => idle(port))
    await until('five are answered', answered(kept))
    const sixth = idle(port)
    await until('the sixth is refused', async () => sixth.isClosed)
    expect(sixth.text).toBe('')
    kept[0]!.socket.destroy()
    await until('its place is free', async () => (await health(port).catch(() => null))?.status === 200)
  })

  test('does not limit the connections of a trusted proxy', async () => {
    const port = await listen({ connectionsPerAddress: 2 }, { SVC_TRUSTED_PROXIES: 'loopback' })
    await until(
      'all are answered',
      answered(Array.from({ length: 10 }, (_, i) => idle(port, `X-Forwarded-For: 198.51.100.${i}`))),
    )
  })

  test('limits event streams separately, per client behind the proxy', async () => {
    const { project } = await app.managedProject()
    const env = { SVC_TRUSTED_PROXIES: 'loopback' }
    const port = await listen({ connections: 4, streamsPerAddress: 3 }, env)
    const stream = (client: string) =>
      open(
        port,
        head(
          'GET',
          `/v1/projects/${project.project_id}/events?stream=true`,
          'Accept: text/event-stream',
          `X-Forwarded-For: ${client}`,
        ),
      )
    const open3 = Array.from({ length: 3 }, () => stream('198.51.100.1'))
    await until('three stream', answered(open3))
    const fourth = stream('198.51.100.1')
    await until('the fourth is refused', async () => fourth.text.includes('HTTP/1.1 429'))
    const others = Array.from({ length: 3 }, () => stream('198.51.100.2'))
    await until('another client streams, above the cap of plain connections', answered(others))
    open3[0]!.socket.destroy()
    await until('a place is free', async () => {
      const again = stream('198.51.100.1')
      await until('it is answered', async () => again.text !== '')
      return again.text.includes('HTTP/1.1 200')
    })
  })
})
