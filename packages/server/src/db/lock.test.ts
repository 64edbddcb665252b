import { expect, test } from 'bun:test'
import { sql } from 'kysely'
import pg from 'pg'
import pino from 'pino'
import { LocalLocks, withLock } from './lock.ts'
import { openDatabase } from './pool.ts'
import { createTestDatabase } from './testing-cluster.ts'
import { until } from '../testing-until.ts'

test('has one holder at a time over two servers, and the holder survives the loss of its connection', async () => {
  const { url, drop } = await createTestDatabase({ name: 'lock_test', prepare: async () => {} })
  const databases = [0, 1].map(() => openDatabase(url, pino({ level: 'silent' })))
  const servers = databases.map((database) => ({ locks: database.locks, localLocks: new LocalLocks() }))
  let holders = 0
  const most: number[] = []
  await Promise.all(
    Array.from({ length: 12 }, (_, n) =>
      withLock(servers[n % 2]!, 'key', async () => {
        most.push(++holders)
        await sql`select pg_sleep(0.005)`.execute(databases[0]!.db)
        holders--
      }),
    ),
  )
  expect(Math.max(...most)).toBe(1)

  const answer = await withLock(servers[0]!, 'key', async () => {
    await sql`select pg_terminate_backend(pid, 5000) from pg_stat_activity
      where datname = current_database() and query like '%pg_advisory_lock%' and pid <> pg_backend_pid()`.execute(
      databases[1]!.db,
    )
    // Another caller gets the lock at once: none waits for a lost connection.
    return withLock(servers[1]!, 'key', async () => 'mine')
  })
  expect(answer).toBe('mine')
  await Promise.all(databases.map((database) => database.close()))
  await drop()
}, 120_000)

test('a lock that is granted at the moment of its timeout is free afterwards', async () => {
  const { url, drop } = await createTestDatabase({ name: 'lock_timeout', prepare: async () => {} })
  const database = openDatabase(url, pino({ level: 'silent' }), { statementMsMax: 1_000, answerMsMax: 60_000 })
  const holder = new pg.Client({ connectionString: url })
  await holder.connect()
  await holder.query("select pg_advisory_lock(hashtextextended('key', 0))")
  const waiting = withLock({ locks: database.locks, localLocks: new LocalLocks() }, 'key', async () => 'done')
  const waiter = (what: string) =>
    holder.query<{ pid: number }>(
      `select pid from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and ${what}`,
    )
  const pid = await until('the other one to wait', async () => (await waiter('true')).rows[0]?.pid ?? null)
  // As on a machine that stands still for a moment.
  process.kill(pid, 'SIGSTOP')
  await holder.query("select pg_advisory_unlock(hashtextextended('key', 0))")
  await until('its time to be over', async () => {
    const { rows } = await waiter("clock_timestamp() - query_start > interval '1.2 seconds'")
    return rows.length > 0
  })
  process.kill(pid, 'SIGCONT')
  expect(await waiting).toBe('done')
  await until('the lock to be free', async () => {
    const { rows } = await holder.query<{ free: boolean }>(
      "select pg_try_advisory_lock(hashtextextended('key', 0)) as free",
    )
    return rows[0]!.free
  })
  await holder.end()
  await database.close()
  await drop()
}, 120_000)
