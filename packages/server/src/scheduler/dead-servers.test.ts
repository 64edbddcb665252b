import { afterAll, afterEach, beforeAll, expect, test } from 'bun:test'
import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { sql } from 'kysely'
import { insertRow, updateRows } from '../db/rows.ts'
import { reconcileSessions } from '../sessions/jobs.ts'
import { makeSessionApp, secondServer, type SecondServer, type SessionApp, until } from '../sessions/testing.ts'
import { Heartbeat } from './heartbeat.ts'
import { type RunningHeartbeat, startHeartbeat } from './instance.ts'
import { runJobs } from './loop.ts'

/**
 * The heartbeat and the lock of the first server run in a process of their own, which can be killed. Its row keeps a
 * heartbeat of the future, so that only its lock can show its death.
 */

let app: SessionApp
let second: SecondServer
const processes: Bun.Subprocess[] = []
const lives: RunningHeartbeat[] = []
beforeAll(async () => {
  app = await makeSessionApp()
  second = await secondServer(app)
}, 120_000)
afterEach(async () => {
  await Promise.all(lives.splice(0).map((life) => life.end()))
  for (const child of processes) child.kill('SIGKILL')
  await Promise.all(processes.splice(0).map((child) => child.exited))
})
afterAll(async () => {
  await second.close()
  await app.close()
})

const here = (name: string) => JSON.stringify(join(import.meta.dir, name))

/** Holds the lock of the first server until the process is killed. */
async function live(folderId: string): Promise<Bun.Subprocess> {
  const script = `
    const { openDatabase } = await import(${here('../db/pool.ts')})
    const { Heartbeat } = await import(${here('heartbeat.ts')})
    const { startHeartbeat } = await import(${here('instance.ts')})
    const log = { info() {}, warn() {}, debug() {} }
    const { db, locks } = openDatabase(${JSON.stringify(app.deps.locks.options.connectionString)}, log)
    const config = { peerUrl: null, roles: { worker: true } }
    const instanceId = ${JSON.stringify(app.deps.instanceId)}
    const deps = { config, db, disk: { isLow: false }, locks, log, heartbeat: new Heartbeat(), now: () => new Date(), instanceId, serverName: 'first' }
    await startHeartbeat(deps, { folderId: ${JSON.stringify(folderId)}, onDeath: async () => {} })
    console.log('alive')`
  const child = Bun.spawn([process.execPath, '--eval', script], { stdout: 'pipe', stderr: 'inherit' })
  processes.push(child)
  await child.stdout.getReader().read()
  await updateRows(app.deps.db, 'server_instances', mine(), { heartbeat_at: new Date(Date.now() + 3_600_000) })
  return child
}

const mine = () => ({ instance_id: app.deps.instanceId })
const row = async () =>
  (
    await app.deps.db
      .selectFrom('server_instances')
      .selectAll()
      .where('instance_id', '=', app.deps.instanceId)
      .execute()
  )[0]

async function isHeld(): Promise<boolean> {
  const { rows } = await sql<{ free: boolean }>`select pg_try_advisory_xact_lock_shared(
    hashtextextended('svc instance ' || ${app.deps.instanceId}::uuid::text, 0)) as free`.execute(app.deps.db)
  return rows[0]?.free === false
}

async function watch(folderId: string): Promise<void> {
  const onDeath = () => reconcileSessions(second.deps)
  lives.push(await startHeartbeat({ ...second.deps, heartbeat: new Heartbeat() }, { folderId, onDeath }))
}

test('the lock alone shows that a killed server is dead, and the others end its sessions', async () => {
  const session = await app.running()
  const first = await live(randomUUID())
  await watch(randomUUID())
  first.kill('SIGKILL')
  const stopped = await app.reaches(session.session_id, 'stopped')
  expect(stopped.error).toContain('The server that ran this sandbox stopped')
}, 120_000)

test('a server that lost its connection takes its lock again and keeps its sessions', async () => {
  const session = await app.running()
  await live(randomUUID())
  await watch(randomUUID())
  const takenAt = (await row())?.lock_taken_at
  await updateRows(app.deps.db, 'server_instances', mine(), { lock_lost_at: new Date() })
  await sql`select pg_terminate_backend(pid, 5000) from pg_locks where locktype = 'advisory'
    and (classid::bigint << 32) | objid::bigint = (select hashtextextended('svc instance ' || ${app.deps.instanceId}::uuid::text, 0))`.execute(
    app.deps.db,
  )
  await until('the lock is taken again', async () => (await row())?.lock_taken_at !== takenAt && (await isHeld()))
  expect((await row())?.lock_lost_at).toBeNull()
  await reconcileSessions(second.deps)
  await second.deps.sessions.reconcile(session.session_id)
  expect((await app.session(session.session_id)).status).toBe('running')
}, 120_000)

test('the next server of the same data folder knows at once that the previous one is dead', async () => {
  const session = await app.running()
  const folderId = randomUUID()
  const first = await live(folderId)
  first.kill('SIGKILL')
  await until('PostgreSQL has released the lock', async () => !(await isHeld()))
  await watch(folderId)
  expect(await row()).toBeUndefined()
  await second.deps.sessions.reconcile(session.session_id)
  expect((await app.session(session.session_id)).status).toBe('stopped')
}, 120_000)

test('a server stays alive beside a copy of its data folder', async () => {
  const folderId = randomUUID()
  await live(folderId)
  await watch(folderId)
  expect(await row()).toMatchObject({ data_folder: folderId, lock_lost_at: null })
}, 120_000)

test('a lock from before the last start of the database proves nothing', async () => {
  const [instance_id, folderId] = [randomUUID(), randomUUID()]
  await insertRow(app.deps.db, 'server_instances', { instance_id, data_folder: folderId, lock_taken_at: new Date(0) })
  await watch(folderId)
  const rows = await app.deps.db
    .selectFrom('server_instances')
    .selectAll()
    .where('instance_id', '=', instance_id)
    .execute()
  expect(rows).toMatchObject([{ instance_id, lock_lost_at: null }])
}, 120_000)

test('a server without its lock starts no work until it has the lock again', async () => {
  const clock = { ms: 0 }
  let refusals = 0
  class CountingHeartbeat extends Heartbeat {
    override mayClaim(): boolean {
      const may = super.mayClaim()
      if (!may) refusals += 1
      return may
    }
  }
  const heartbeat = new CountingHeartbeat(() => clock.ms)
  const over = new AbortController()
  let runs = 0
  const job = { name: 'count', scope: 'any server' as const, everyMs: 1, run: async () => void (runs += 1) }
  const ended = runJobs([job], over.signal, { ...app.deps, heartbeat })
  await until('the job has run', () => runs > 0)
  heartbeat.lockLost()
  clock.ms = 4_000
  const before = runs
  // A connection that is replaced in time changes nothing.
  await until('the job has run again', () => runs > before)
  clock.ms = 6_000
  await until('the job waits', () => refusals > 0)
  const then = runs
  await until('the job still waits', () => refusals > 3)
  expect([runs, heartbeat.mayJudge()]).toEqual([then, false])
  heartbeat.lockTaken()
  await until('the job has run with the lock', () => runs > then)
  // The others may still be on their way back.
  expect(heartbeat.mayJudge()).toBeFalse()
  clock.ms = 20_000
  expect(heartbeat.mayJudge()).toBeTrue()
  over.abort()
  await ended
})
