import { afterAll, beforeAll, expect, test } from 'bun:test'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import { join } from 'node:path'
import type { Project } from '@svc/contract'
import pg from 'pg'
import { withDeadline } from '../deadline.ts'
import { Shutdown } from './shutdown.ts'
import { type BootedServer, bootServer, makeTestServers } from './testing-server.ts'

let servers: Awaited<ReturnType<typeof makeTestServers>>
beforeAll(async () => {
  servers = await makeTestServers()
}, 120_000)
afterAll(() => servers.close(), 120_000)

/** The exit code, or null when the server still runs after the time in which its supervisor would kill it. */
async function terminate({ child }: BootedServer): Promise<number | null> {
  child.kill('SIGTERM')
  return withDeadline(child.exited, 10_000, () => null)
}

/** Accepts connections and never answers. */
async function serveSilence() {
  const sockets: Socket[] = []
  const waiting: (() => void)[] = []
  const server = createServer((socket) => {
    sockets.push(socket)
    socket.on('error', () => socket.destroy())
    for (const call of waiting.splice(0)) call()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/repo.git`,
    reached: () => new Promise<void>((resolve) => (sockets.length > 0 ? resolve() : waiting.push(resolve))),
    close() {
      for (const socket of sockets) socket.destroy()
      server.close()
    },
  }
}

test('a server that is asked to end ends in time although callers and a git host keep it waiting', async () => {
  const server = await servers.boot()
  const url = new URL(server.url!)
  const headers = { authorization: `Bearer ${servers.token}` }
  const silent = await serveSilence()
  const cut = new AbortController()
  try {
    // A client that reads a stream, one that stops in the middle of its request, and one that waits for a git host.
    const made = await fetch(`${server.url}/v1/projects`, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json' },
      body: JSON.stringify({ name: 'stopping' }),
    })
    const project = (await made.json()) as Project
    expect(made.status).toBe(201)
    const stream = await fetch(`${server.url}/v1/projects/${project.project_id}/events`, { headers })
    expect(stream.status).toBe(200)
    const half = connect(Number(url.port), url.hostname)
    half.on('error', () => half.destroy())
    half.write(`POST /v1/projects HTTP/1.1\r\nhost: ${url.host}\r\nauthorization: Bearer ${servers.token}\r\n`)
    half.write('content-type: application/json\r\ncontent-length: 1000\r\n\r\n{"name":')
    const asking = fetch(`${server.url}/v1/projects`, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json' },
      body: JSON.stringify({ repo_url: silent.url }),
      signal: cut.signal,
    }).catch(() => null)
    await silent.reached()
    expect(await terminate(server)).toBe(0)
    const log = await server.errors()
    expect(JSON.parse(log.trimEnd().split('\n').at(-1)!)).toMatchObject({ msg: 'stopped' })
    cut.abort()
    await asking
    half.destroy()
  } finally {
    silent.close()
  }
}, 120_000)

test('a server that is asked to end during its start ends in time', async () => {
  // The migrating process of another server holds this lock.
  const client = new pg.Client({ connectionString: servers.databaseUrl })
  await client.connect()
  await client.query('select pg_advisory_lock(7346201)')
  try {
    const starting = servers.boot()
    const waits = `select from pg_locks where locktype = 'advisory' and not granted and objid = 7346201`
    for (const deadline = Date.now() + 45_000; (await client.query(waits)).rowCount === 0; await Bun.sleep(20))
      if (Date.now() > deadline) throw new Error('The server never waited for the migration.')
    const lock = await Bun.file(join(servers.dir, 'data', 'server.lock')).text()
    process.kill(Number(lock.split(' ')[0]), 'SIGTERM')
    const server = await withDeadline(starting, 10_000, () => null)
    expect(server?.url).toBeNull()
    expect(await server?.child.exited).toBe(1)
    expect(await server?.errors()).toContain('"unfinished":"the start"')
  } finally {
    await client.end()
  }
}, 120_000)

/** Passes connections on to the database until it is cut. */
async function serveDatabase(url: string) {
  const { host, port } = new pg.Client({ connectionString: url })
  const sockets = new Set<Socket>()
  const proxy = createServer((from) => {
    const to = connect(host.startsWith('/') ? { path: `${host}/.s.PGSQL.${port}` } : { host, port })
    for (const socket of [from, to]) {
      sockets.add(socket)
      socket.on('error', () => socket.destroy())
      socket.on('close', () => sockets.delete(socket))
    }
    from.pipe(to).pipe(from)
  })
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
  const through = new URL(url)
  through.searchParams.delete('host')
  through.host = `127.0.0.1:${(proxy.address() as AddressInfo).port}`
  return {
    url: through.href,
    cut() {
      proxy.close()
      for (const socket of sockets) socket.destroy()
    },
  }
}

test('a server that is asked to end while its database is away ends in time, and says what it could not record', async () => {
  const database = await serveDatabase(servers.databaseUrl)
  const children: Bun.Subprocess[] = []
  try {
    const place = { ...servers, databaseUrl: database.url, env: { SVC_DATA_DIR: join(servers.dir, 'away') } }
    const server = await bootServer(place, (child) => children.push(child))
    expect(server.url).not.toBeNull()
    database.cut()
    expect(await terminate(server)).toBe(0)
    const log = await server.errors()
    expect(log).not.toContain('not everything has ended')
    expect(log).toContain('failed to remove the entry of this server from the database')
    expect(JSON.parse(log.trimEnd().split('\n').at(-1)!)).toMatchObject({ msg: 'stopped' })
  } finally {
    database.cut()
    for (const child of children) child.kill('SIGKILL')
  }
}, 120_000)

test('what does not end by the deadline is named, and the process exits', async () => {
  const lines: object[] = []
  const exited = Promise.withResolvers<number>()
  const log = { info() {}, error: (fields: object) => void lines.push(fields) }
  const shutdown = new Shutdown({ log: log as never, exit: exited.resolve, endMs: 20 })
  void shutdown.wait('the database', new Promise(() => {}))
  await shutdown.wait('apps', Promise.resolve())
  expect(['SIGTERM', 'stop with sessions', 'SIGTERM'].map((reason) => shutdown.begin(reason))).toEqual([
    ...[true, false, true],
  ])
  await shutdown.requested()
  expect([shutdown.signal.reason, await exited.promise, lines]).toEqual([
    'SIGTERM',
    1,
    [{ unfinished: 'the database' }],
  ])
})

test('a part that fails to end is logged, and the end goes on without an exit by the deadline', async () => {
  const lines: object[] = []
  const exited = Promise.withResolvers<number>()
  const log = { info() {}, error: (fields: object) => void lines.push(fields) }
  const shutdown = new Shutdown({ log: log as never, exit: exited.resolve, endMs: 200 })
  shutdown.begin('SIGTERM')
  const err = new Error('the database is away')
  await shutdown.drain('sessions', Promise.reject(err))
  shutdown.over()
  expect([await exited.promise, lines]).toEqual([0, [{ err, part: 'sessions' }]])
})
