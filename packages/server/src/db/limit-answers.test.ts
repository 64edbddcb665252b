/** A database behind a network that drops packets: connections stay open, and nothing arrives. */
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'bun:test'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import type { ErrorBody } from '@svc/contract'
import { sql } from 'kysely'
import pino from 'pino'
import { buildApp } from '../app.ts'
import { makeTestApp, type TestApp } from '../testing.ts'
import { LocalLocks, withLock } from './lock.ts'
import { type Database, openDatabase } from './pool.ts'
import { isDatabaseUnavailable } from './unavailable.ts'

let app: TestApp
let network: Server
let opened: Socket[] = []
/** Of the connections so far: whether anything that the database, or its client, sends arrives. */
const dropped = { answers: new Set<Socket>(), queries: new Set<Socket>() }
let database: Database

beforeAll(async () => {
  app = await makeTestApp()
  const { host, port } = locationOf(app.deps.config.databaseUrl!)
  network = createServer((near) => {
    const far = host.startsWith('/') ? connect(`${host}/.s.PGSQL.${port}`) : connect(Number(port), host)
    opened.push(near)
    near.on('data', (bytes) => dropped.queries.has(near) || far.write(bytes))
    far.on('data', (bytes) => dropped.answers.has(near) || near.write(bytes))
    for (const socket of [near, far]) socket.on('error', () => socket.destroy())
    near.on('close', () => far.destroy())
    far.on('close', () => near.destroy())
  })
  await new Promise<void>((resolve) => network.listen({ port: 0, host: '127.0.0.1' }, resolve))
}, 120_000)
afterAll(async () => {
  network.close()
  await app.close()
})
beforeEach(() => {
  opened = []
  const url = new URL(app.deps.config.databaseUrl!)
  url.hostname = '127.0.0.1'
  url.port = String((network.address() as AddressInfo).port)
  url.search = ''
  database = openDatabase(url.href, pino({ level: 'silent' }), { answerMsMax: 400 })
})
afterEach(() => database.close())

function locationOf(databaseUrl: string): { host: string; port: string } {
  const url = new URL(databaseUrl)
  return { host: url.searchParams.get('host') ?? url.hostname, port: url.port || '5432' }
}

const dropQueries = () => opened.forEach((socket) => dropped.queries.add(socket))

test('answers a request whose query gets no answer with 503, and the next one over new connections', async () => {
  const served = buildApp({ ...app.deps, db: database.db, locks: database.locks })
  const { publicUrl } = app.deps.config
  const projects = () =>
    served.request(`${publicUrl}/v1/projects`, {
      headers: { host: new URL(publicUrl).host, authorization: `Bearer ${app.ownerToken}` },
    })
  const warm = await Promise.all([projects(), projects(), projects()])
  expect(warm.map((answer) => answer.status)).toEqual([200, 200, 200])
  const before = opened.length
  expect(before).toBeGreaterThan(1)
  dropQueries()
  const refused = await projects()
  const { code, error } = (await refused.json()) as ErrorBody
  expect([refused.status, code, error]).toEqual([503, 'unavailable', 'The database does not answer.'])
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
  // The first query that got no answer ended the idle connections, too.
  expect((await projects()).status).toBe(200)
  expect(opened.length).toBeGreaterThan(before)
}, 120_000)

test('a COMMIT without an answer fails as on a broken connection, although it may have been carried out', async () => {
  await sql`create table if not exists limit_answers_test (n int)`.execute(app.deps.db)
  const committing = database.db.transaction().execute(async (trx) => {
    await sql`insert into limit_answers_test values (1)`.execute(trx)
    for (const socket of opened) dropped.answers.add(socket)
  })
  const error = await committing.then(
    () => null,
    (reason: unknown) => reason,
  )
  expect(isDatabaseUnavailable(error)).toBe(true)
  const { rows } = await sql`select n from limit_answers_test`.execute(app.deps.db)
  expect(rows).toEqual([{ n: 1 }])
}, 120_000)

test('a lock is waited for beyond the limit of an answer, and without an answer no longer than that', async () => {
  const { localLocks } = app.deps
  const brief = openDatabase(app.deps.config.databaseUrl!, pino({ level: 'silent' }), {
    statementMsMax: 50,
    answerMsMax: 10_000,
  })
  try {
    const taken = Promise.withResolvers<void>()
    const isOver = Promise.withResolvers<void>()
    const holding = withLock({ locks: app.deps.locks, localLocks }, 'key', () => {
      taken.resolve()
      return isOver.promise
    })
    await taken.promise
    const waiting = withLock({ locks: brief.locks, localLocks: new LocalLocks() }, 'key', async () => 'mine')
    const waits = () =>
      sql<{ pid: number; since: string }>`select pid, query_start as since from pg_stat_activity
      where datname = current_database() and wait_event = 'advisory'`.execute(app.deps.db)
    const starts = new Set<string>()
    while (starts.size < 3) for (const { since } of (await waits()).rows) starts.add(since)
    isOver.resolve()
    await holding
    expect(await waiting).toBe('mine')
  } finally {
    await brief.close()
  }

  const locks = { locks: database.locks, localLocks: new LocalLocks() }
  await withLock(locks, 'key', async () => {})
  // The holder has its result before the lock is released.
  while (locks.localLocks.isHeld('key')) await new Promise(setImmediate)
  dropQueries()
  const error = await withLock(locks, 'key', async () => {}).catch((reason: unknown) => reason)
  expect(isDatabaseUnavailable(error)).toBe(true)
  expect(await withLock(locks, 'key', async () => 'mine')).toBe('mine')
}, 120_000)
