import { expect, test } from 'bun:test'
import { sql } from 'kysely'
import pino from 'pino'
import { LocalLocks, withLock } from './lock.ts'
import { openDatabase } from './pool.ts'
import { createTestDatabase } from './testing-cluster.ts'

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
}, 60_000)
