/** A server whose connections to PostgreSQL are cut without a word, as by a switch that fails, and the network comes back. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { randomUUID } from 'node:crypto'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { join } from 'node:path'
import { type Database, openDatabase } from '../db/pool.ts'
import { makeTestApp, type TestApp } from '../testing.ts'
import { until } from '../testing-until.ts'
import { Heartbeat } from './heartbeat.ts'
import { type RunningHeartbeat, startHeartbeat } from './instance.ts'

let app: TestApp
let link: Server
let behind: Database
let life: RunningHeartbeat
const instanceId = randomUUID()
const heartbeat = new Heartbeat()
const open = new Set<Socket>()
let isCut = false

beforeAll(async () => {
  app = await makeTestApp()
  const url = new URL(app.deps.locks.options.connectionString!)
  const socket = join(url.searchParams.get('host')!, '.s.PGSQL.5432')
  url.searchParams.delete('host')
  link = createServer((near) => {
    open.add(near.on('error', whenCut))
    if (isCut) return void near.pause()
    const far = connect(socket)
    open.add(far.on('error', whenCut))
    near.pipe(far).pipe(near)
  })
  await new Promise<void>((resolve) => link.listen(0, '127.0.0.1', resolve))
  url.host = `127.0.0.1:${(link.address() as AddressInfo).port}`
  behind = openDatabase(url.href, app.deps.log)
  const deps = { ...app.deps, db: behind.db, locks: behind.locks, heartbeat, instanceId }
  life = await startHeartbeat(deps, { folderId: randomUUID(), onDeath: async () => {} })
}, 120_000)
afterAll(async () => {
  for (const each of open) each.destroy()
  await life.end()
  await behind.close()
  link.close()
  await app.close()
}, 120_000)

function whenCut(): void {}

async function beatAt(): Promise<number> {
  const row = await app.deps.db
    .selectFrom('server_instances')
    .select('heartbeat_at')
    .where('instance_id', '=', instanceId)
    .executeTakeFirst()
  return row === undefined ? 0 : Date.parse(row.heartbeat_at)
}

test('takes its lock again after a cut that PostgreSQL did not see, and records its heartbeat', async () => {
  const began = await beatAt()
  await until('a heartbeat came through', async () => (await beatAt()) > began)
  isCut = true
  // PostgreSQL keeps its end of what was open, and the lock with it.
  for (const each of open) each.unpipe().pause()
  await until('the lock is missed', () => !heartbeat.mayJudge())
  const missed = await beatAt()
  isCut = false
  await until('its heartbeat is there again', async () => (await beatAt()) > missed)
  expect(heartbeat.mayClaim()).toBe(true)
}, 180_000)
