/** The socket of the data folder tells how the database of a running server is. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { request } from 'node:http'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import pg from 'pg'
import {
  type DoctorReport,
  examinePath,
  ownerSocketName,
  type ServerInfo,
  serverInfoPath,
} from '@svc/contract/daemon/owner-socket'
import { parseConfig } from '../config.ts'
import { examineService } from '../doctor/examine-service.ts'
import { withClient } from '../db/testing-cluster.ts'
import { bootServer, makeTestServers } from './testing-server.ts'

let servers: Awaited<ReturnType<typeof makeTestServers>>
beforeAll(async () => {
  servers = await makeTestServers()
}, 120_000)
afterAll(() => servers.close(), 120_000)

/** A way to the database that can be closed, or lose everything. */
async function makeWay(databaseUrl: string) {
  const given = new URL(databaseUrl)
  const host = given.searchParams.get('host') ?? given.hostname
  const port = given.port || '5432'
  const sockets = new Set<Socket>()
  let isSilent = false
  const server = createServer((near) => {
    const far = host.startsWith('/') ? connect(`${host}/.s.PGSQL.${port}`) : connect(Number(port), host)
    near.on('data', (bytes) => isSilent || far.write(bytes))
    far.on('data', (bytes) => isSilent || near.write(bytes))
    for (const socket of [near, far]) sockets.add(socket.on('error', () => socket.destroy()))
    near.on('close', () => far.destroy())
    far.on('close', () => near.destroy())
  })
  const listen = (on: number) => new Promise<void>((resolve) => server.listen(on, '127.0.0.1', resolve))
  await listen(0)
  const own = (server.address() as AddressInfo).port
  const url = new URL(databaseUrl)
  url.hostname = '127.0.0.1'
  url.port = String(own)
  url.search = ''
  url.password = 'hunter2'
  const close = async () => {
    const closed = new Promise<void>((resolve) => server.close(() => resolve()))
    for (const socket of sockets) socket.destroy()
    await closed
  }
  return { url, close, open: () => listen(own), beSilent: (silent: boolean) => (isSilent = silent) }
}

const infoOf = (dataDir: string) => askSocket<ServerInfo>(dataDir, serverInfoPath)

function askSocket<Answer>(dataDir: string, path: string): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const sent = request({ socketPath: join(dataDir, ownerSocketName), path }, (answer) => {
      let text = ''
      answer.on('data', (chunk: Buffer) => (text += chunk.toString()))
      answer.on('end', () => resolve(JSON.parse(text) as Answer))
    })
    sent.on('error', reject)
    sent.end()
  })
}

test('says once which version used the data folder before', async () => {
  const started: Bun.Subprocess[] = []
  const boot = async () => {
    const server = await bootServer(servers, (child) => started.push(child))
    expect(server.url, server.url === null ? await server.errors() : '').not.toBeNull()
    const { earlier_version: earlier } = await infoOf(join(servers.dir, 'data'))
    server.child.kill('SIGTERM')
    await server.child.exited
    return earlier
  }
  try {
    expect(await boot()).toBeNull()
    const client = new pg.Client({ connectionString: servers.databaseUrl })
    await client.connect()
    await client.query(`update servers set settings = settings || '{"svc_version":"0.6.0"}'`)
    await client.end()
    expect(await boot()).toBe('0.6.0')
    expect(await boot()).toBeNull()
  } finally {
    for (const child of started) child.kill('SIGKILL')
    await Promise.all(started.map((child) => child.exited))
  }
}, 120_000)

test('names the database without its password, and says when and why it does not answer', async () => {
  const way = await makeWay(servers.databaseUrl)
  const started: Bun.Subprocess[] = []
  try {
    const server = await bootServer({ ...servers, databaseUrl: way.url.href }, (child) => started.push(child))
    expect(server.url, server.url === null ? await server.errors() : '').not.toBeNull()
    const dataDir = join(servers.dir, 'data')
    const database = {
      kind: 'external',
      address: `${way.url.username}@${way.url.host}${way.url.pathname}`,
      problem: null,
    }
    const fine = await infoOf(dataDir)
    expect(fine.database).toEqual({ ...database, read_only: false } as never)
    expect(fine.sandboxes).toMatchObject({ sessions: 0 })
    expect(JSON.stringify(fine)).not.toContain('hunter2')

    way.beSilent(true)
    expect((await infoOf(dataDir)).database).toMatchObject({ ...database, problem: 'no answer within 2 s' } as never)

    await way.close()
    const away = await infoOf(dataDir)
    expect(away.database?.problem).toContain('ECONNREFUSED')
    expect([away.url, away.sandboxes]).toEqual([fine.url, undefined])

    way.beSilent(false)
    await way.open()
    const until = Date.now() + 30_000
    while ((await infoOf(dataDir)).database?.problem !== null)
      if (Date.now() > until) throw new Error('The database did not come back.')
  } finally {
    for (const child of started) child.kill('SIGKILL')
    await Promise.all(started.map((child) => child.exited))
    await way.close()
  }
}, 120_000)

test('says that the database was emptied, here and to users, and that a backup brings the data back', async () => {
  const started: Bun.Subprocess[] = []
  try {
    const { url } = await bootServer(servers, (child) => started.push(child))
    await withClient(servers.databaseUrl, async (client) => {
      await client.query('alter schema public rename to gone')
      await client.query('create schema public')
      await client.query(`select pg_terminate_backend(pid) from pg_stat_activity
        where pid <> pg_backend_pid() and datname = current_database()`)
    })
    const says = 'The database does not have the tables of this server: it is empty, or another one.'
    const mend =
      'Set DATABASE_URL to the database that has the data, and start again; if they are lost, restore a backup into an empty folder (svc self-host restore)'
    const dataDir = join(servers.dir, 'data')
    const { database } = await infoOf(dataDir)
    expect(database?.problem).toBe(`${says} ${mend}`)
    const doctor = await askSocket<DoctorReport>(dataDir, examinePath)
    const settings = { DATABASE_URL: servers.databaseUrl, SVC_DATA_DIR: dataDir, SVC_SANDBOX_DRIVER: 'none' }
    const stopped = await examineService({ config: parseConfig(settings), db: null })
    for (const { findings } of [doctor.groups, stopped].map((groups) =>
      groups.find(({ name }) => name === 'database')!,
    ))
      expect(findings[0]).toMatchObject({
        says: expect.stringContaining('it is empty, or another one'),
        mend: `${mend}.`,
      })
    const answer = await fetch(`${url}/v1/projects`, { headers: { authorization: `Bearer ${servers.token}` } })
    expect([answer.status, ((await answer.json()) as { error: string }).error]).toEqual([503, says])
  } finally {
    for (const child of started) child.kill('SIGKILL')
    await Promise.all(started.map((child) => child.exited))
  }
}, 120_000)
