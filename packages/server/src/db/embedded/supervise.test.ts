import { afterAll, expect, test } from 'bun:test'
import { mkdtemp, readdir, readFile, readlink, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { until } from '../../testing-until.ts'
import { superviseEmbeddedPostgres } from './supervise.ts'

const root = await mkdtemp(join(tmpdir(), 'svc-kept-'))
afterAll(() => rm(root, { recursive: true, force: true }), 120_000)

async function query(url: string, sql: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => {})
  try {
    await client.connect()
    return (await client.query(sql)).rows
  } finally {
    await client.end().catch(() => {})
  }
}

/** The processes whose working directory is that folder: those of PostgreSQL. */
async function processIn(dir: string): Promise<string[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name))
  const at = await Promise.all(pids.map((pid) => readlink(`/proc/${pid}/cwd`).catch(() => '')))
  return pids.filter((_, n) => at[n] === dir)
}

test('restarts a killed PostgreSQL at the same address with all committed data, and not after a stop', async () => {
  const dataDir = join(root, 'postgres')
  const said: string[] = []
  const note = (_: object, message: string) => void said.push(message)
  const log = { info: note, debug: () => {}, error: note }
  const count = (words: string) => said.filter((message) => message.includes(words)).length
  const kept = await superviseEmbeddedPostgres({ dataDir, log, settings: { fsync: 'off' } })
  const pidNow = async () => Number((await readFile(join(dataDir, 'postmaster.pid'), 'utf8')).split('\n')[0])
  await query(kept.connectionString, 'create table t (n int)')
  for (const n of [1, 2]) {
    await query(kept.connectionString, `insert into t values (${n})`)
    const before = await pidNow()
    process.kill(before, 'SIGKILL')
    const deadline = Date.now() + 40_000
    for (;;) {
      const rows = await query(kept.connectionString, 'select n from t order by n').catch(() => null)
      // One that is killed before its start is over did not end unexpectedly: the start failed.
      if (rows !== null && (await pidNow()) !== before && count('PostgreSQL restarted') === n) {
        expect(rows).toEqual(Array.from({ length: n }, (_, i) => ({ n: i + 1 })))
        break
      }
      if (Date.now() > deadline) throw new Error(`PostgreSQL was not started again: ${said.join(', ')}`)
      await delay(20)
    }
  }
  expect(count('ended unexpectedly')).toBe(2)
  // Also during a restart.
  process.kill(await pidNow(), 'SIGKILL')
  await kept.stop()
  // The other processes of a killed PostgreSQL notice it themselves within a moment.
  const deadline = Date.now() + 40_000
  while ((await processIn(dataDir)).length > 0) {
    if (Date.now() > deadline) throw new Error('A PostgreSQL that was stopped lives on.')
    await delay(20)
  }
  expect(await query(kept.connectionString, 'select 1').catch((error: Error) => error)).toBeInstanceOf(Error)
}, 120_000)

test('restarts a PostgreSQL whose socket was removed, at the same address', async () => {
  const said: string[] = []
  const note = (_: object, message: string) => void said.push(message)
  const log = { info: note, debug: () => {}, error: note }
  const kept = await superviseEmbeddedPostgres({ dataDir: join(root, 'cleaned'), log })
  try {
    const socketDir = new URL(kept.connectionString).searchParams.get('host')!
    await rm(socketDir, { recursive: true })
    // It answers a moment before the log says so.
    await until('it is restarted', () => said.includes('PostgreSQL restarted'))
    expect(await query(kept.connectionString, 'select 1')).toHaveLength(1)
    expect((await stat(socketDir)).mode & 0o777).toBe(0o700)
    expect(said.filter((message) => message.includes('restart'))).toEqual([
      'the socket of PostgreSQL was removed, as by a cleanup of temporary files; restarting',
      'PostgreSQL restarted',
    ])
  } finally {
    await kept.stop()
  }
}, 120_000)
