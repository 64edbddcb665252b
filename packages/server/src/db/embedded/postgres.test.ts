import { afterAll, expect, test } from 'bun:test'
import { spawn } from 'node:child_process'
import { chmod, copyFile, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { existsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { type EmbeddedOptions, EmbeddedPostgresError, startEmbeddedPostgres } from './postgres.ts'
import { runningDatabase } from './running.ts'

const root = await mkdtemp(join(tmpdir(), 'svc-embedded-'))
// Removing synced files takes some disks a second per database.
afterAll(() => rm(root, { recursive: true, force: true }), 120_000)

const log = { info: () => {}, debug: () => {}, error: () => {} }
const start = (dataDir: string, more: Partial<EmbeddedOptions> = {}) => startEmbeddedPostgres({ dataDir, log, ...more })

async function query(url: string, sql: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query(sql)).rows
  } finally {
    await client.end()
  }
}

async function until(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = Date.now() + 45_000
  while (!(await holds())) {
    if (Date.now() > deadline) throw new Error(`waited 45 s in vain until ${what}`)
    await delay(5)
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

async function refusal(started: Promise<unknown>): Promise<{ kind: string; message: string }> {
  const error = await started.then(
    () => null,
    (reason: unknown) => reason,
  )
  expect(error).toBeInstanceOf(EmbeddedPostgresError)
  return error as EmbeddedPostgresError
}

test('PostgreSQL starts, keeps its data, restarts quickly and leaves no process', async () => {
  const dataDir = join(root, 'a/postgres')
  const first = await start(dataDir)
  await query(first.connectionString, 'create table t as select 7 as n')
  expect(await query(first.connectionString, 'show fsync')).toEqual([{ fsync: 'on' }])
  expect(await query(first.connectionString, 'show listen_addresses')).toEqual([{ listen_addresses: '' }])
  await first.stop()
  expect(isAlive(first.pid)).toBe(false)

  const again = await start(dataDir)
  expect(await query(again.connectionString, 'select n from t')).toEqual([{ n: 7 }])
  await again.stop()
  await again.stop()
  expect(await readdir(join(root, 'a'))).toEqual(['postgres'])
  const socketDir = new URL(again.connectionString).searchParams.get('host')!
  expect(existsSync(socketDir)).toBe(false)
}, 120_000)

test('PostgreSQL ends within moments when its parent is killed, and its data folder opens again', async () => {
  const dataDir = join(root, 'killed/postgres')
  const parent = join(root, 'parent.ts')
  await writeFile(
    parent,
    `import { startEmbeddedPostgres } from ${JSON.stringify(join(import.meta.dir, 'postgres.ts'))}
     const log = { info() {}, debug() {}, error() {} }
     const { pid } = await startEmbeddedPostgres({ dataDir: ${JSON.stringify(dataDir)}, log })
     console.log(pid)
     setInterval(() => {}, 1000)`,
  )
  for (let round = 0; round < 5; round++) {
    const child = spawn(process.execPath, [parent], { stdio: ['ignore', 'pipe', 'inherit'] })
    const pid = await new Promise<number>((resolve) => child.stdout.once('data', (text) => resolve(Number(text))))
    expect(isAlive(pid)).toBe(true)
    child.kill('SIGKILL')
    await until(`PostgreSQL ${pid} is gone`, () => !isAlive(pid))
  }
  const after = await start(dataDir)
  await after.stop()
}, 120_000)

test('reports a crash of PostgreSQL, whose stale pid file does not stop the next start', async () => {
  const dataDir = join(root, 'crashed/postgres')
  const first = await start(dataDir)
  await query(first.connectionString, 'create table t as select 1 as n')
  const file = await readFile(join(dataDir, 'postmaster.pid'), 'utf8')
  process.kill(first.pid, 'SIGKILL')
  await first.exited
  // The number now belongs to an unrelated process: this test.
  await writeFile(join(dataDir, 'postmaster.pid'), file.replace(/^\d+/, String(process.pid)))
  const again = await start(dataDir)
  expect(await query(again.connectionString, 'select n from t')).toEqual([{ n: 1 }])
  await again.stop()
}, 120_000)

test('refuses a data folder in use without disturbing its server', async () => {
  const dataDir = join(root, 'used/postgres')
  const first = await start(dataDir)
  const { kind, message } = await refusal(start(dataDir))
  expect(kind).toBe('in-use')
  expect(message).toContain(`process ${first.pid}`)
  expect(await query(first.connectionString, 'select 1 as n')).toEqual([{ n: 1 }])
  await first.stop()
}, 120_000)

test('a start without the log of changes says so, and that a backup helps', async () => {
  const dataDir = join(root, 'lost/postgres')
  await (await start(dataDir)).stop()
  const logDir = join(dataDir, 'pg_wal')
  for (const name of await readdir(logDir)) await rm(join(logDir, name), { recursive: true })
  for (let tries = 0; tries < 3; tries++)
    expect((await refusal(start(dataDir))).message).toMatch(
      /PANIC: .*checkpoint record.*\. Files of the database are lost or damaged\. .* restore a backup/,
    )
  await rm(logDir, { recursive: true })
  expect((await refusal(start(dataDir))).message).toMatch(
    /FATAL: .*"pg_wal" does not exist\. Files of the database are lost/,
  )
}, 120_000)

test('finds the database of a running server from its folder, and not from a copy of the folder', async () => {
  const dataDir = join(root, 'found/postgres')
  const copy = join(root, 'found-copy/postgres')
  const first = await start(dataDir)
  await mkdir(copy, { recursive: true })
  await copyFile(join(dataDir, 'postmaster.pid'), join(copy, 'postmaster.pid'))
  expect(await runningDatabase(dataDir)).toBe(first.connectionString)
  expect(await runningDatabase(copy)).toBeNull()
  await first.stop()
}, 120_000)

test('refuses a data folder of another version or user without changing it', async () => {
  const newer = join(root, 'newer/postgres')
  await mkdir(newer, { recursive: true })
  await writeFile(join(newer, 'PG_VERSION'), '99\n')
  expect(await refusal(start(newer))).toMatchObject({ kind: 'newer-data' })
  expect(await readdir(newer)).toEqual(['PG_VERSION'])
  await writeFile(join(newer, 'PG_VERSION'), '9\n')
  expect(await refusal(start(newer))).toMatchObject({ kind: 'older-data' })

  const foreign = join(root, 'foreign/postgres')
  await mkdir(foreign, { recursive: true })
  await writeFile(join(foreign, 'photo.jpg'), '')
  expect(await refusal(start(foreign))).toMatchObject({ kind: 'foreign-data' })
})

test.if(process.getuid?.() === 0)(
  'runs as another user when started as root without user namespaces',
  async () => {
    const dataDir = join(root, 'setpriv/postgres')
    const rootWays: EmbeddedOptions['rootWays'] = ['setpriv']
    expect(await refusal(start(dataDir, { rootWays }))).toMatchObject({ kind: 'not-writable' })
    await chmod(root, 0o711)
    await chmod(join(root, 'setpriv'), 0o711)
    const dropped = await start(dataDir, { rootWays })
    expect((await stat(dataDir)).uid).not.toBe(0)
    await dropped.stop()
    // And back, with the same data.
    const mapped = await start(dataDir, { rootWays: ['unshare'] })
    expect(await query(mapped.connectionString, 'select 1 as n')).toEqual([{ n: 1 }])
    await mapped.stop()
  },
  120_000,
)

const debian = '/usr/lib/postgresql/15/bin'
test.if(existsSync(debian))(
  'opens a data folder of an installed PostgreSQL 15 with that version',
  async () => {
    const dataDir = join(root, 'debian/postgres')
    const first = await start(dataDir, { programs: { binDir: debian } })
    await query(first.connectionString, 'create table t as select 5 as n')
    await first.stop()
    const again = await start(dataDir)
    expect(await query(again.connectionString, 'select n from t')).toEqual([{ n: 5 }])
    expect(await query(again.connectionString, 'show server_version_num')).toEqual([
      { server_version_num: expect.stringMatching(/^15/) },
    ])
    await again.stop()
  },
  120_000,
)

test('refuses a folder that cannot be created in one line', async () => {
  const { kind, message } = await refusal(start('/proc/nothing/postgres'))
  expect(['not-writable', 'failed']).toContain(kind)
  expect(message).not.toContain('\n')
})

test('an aborted start leaves nothing behind', async () => {
  const stop = new AbortController()
  const dataDir = join(root, 'off/postgres')
  const starting = start(dataDir, { log: { ...log, info: () => stop.abort() }, signal: stop.signal })
  await expect(starting).rejects.toThrow()
  expect(await readdir(join(root, 'off'))).toEqual([])
}, 120_000)

test('one of two concurrent first starts succeeds, and the other says why it failed', async () => {
  const dataDir = join(root, 'two/postgres')
  const results = await Promise.allSettled([start(dataDir), start(dataDir)])
  const won = results.filter((result) => result.status === 'fulfilled')
  expect(won.length).toBeLessThanOrEqual(1)
  for (const result of results) {
    if (result.status === 'rejected') expect(result.reason).toBeInstanceOf(EmbeddedPostgresError)
    else await result.value.stop()
  }
}, 120_000)
