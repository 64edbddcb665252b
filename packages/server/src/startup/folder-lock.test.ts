import { afterAll, beforeAll, expect, test } from 'bun:test'
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { makeToken } from '@svc/contract'
import { migrate } from '../db/migrate.ts'
import { createTestDatabase, type TestDatabase } from '../db/testing-cluster.ts'
import { type BootedServer, bootServer } from './testing-server.ts'

/** Servers in processes of their own, on one data folder and a PostgreSQL of their operator. */

let database: TestDatabase
let dir: string
const token = makeToken((count) => randomBytes(count))
const started: Bun.Subprocess[] = []
beforeAll(async () => {
  database = await createTestDatabase({ name: 'server', prepare: migrate })
  dir = await mkdtemp(join(tmpdir(), 'svc-folder-lock-'))
}, 60_000)
afterAll(async () => {
  for (const child of started) child.kill('SIGKILL')
  await Promise.all(started.map((child) => child.exited))
  await database.drop()
  await rm(dir, { recursive: true, force: true })
}, 60_000)

async function boot(): Promise<BootedServer> {
  const server = await bootServer({ dir, databaseUrl: database.url, token })
  started.push(server.child)
  return server
}

test('a second server on a data folder in use refuses with one line, and starts as soon as the first was killed', async () => {
  const first = await boot()
  expect(first.url).toBeString()
  const second = await boot()
  expect([second.url, await second.child.exited, await second.errors()]).toEqual([
    null,
    1,
    `svc server: The data folder ${join(dir, 'data')} is in use by another server (process ${first.child.pid}). Stop that server first, or set SVC_DATA_DIR to another folder.\n`,
  ])
  // It names the holder, also after others were refused.
  expect(await (await boot()).errors()).toContain(`process ${first.child.pid}`)
  first.child.kill('SIGKILL')
  await first.child.exited
  const third = await boot()
  expect(third.url).toBeString()
  expect(await (await boot()).errors()).toContain(`process ${third.child.pid}`)
}, 60_000)

test('a program that a killed server started does not hold its lock', async () => {
  const folder = await mkdtemp(join(dir, 'inherited-'))
  const lock = JSON.stringify(join(import.meta.dir, 'folder-lock.ts'))
  const script = `
    const { lockDataFolder } = await import(${lock})
    lockDataFolder(${JSON.stringify(folder)}, () => crypto.randomUUID())
    const { spawn } = await import('node:child_process')
    const left = spawn('sleep', ['600'], { stdio: 'ignore', detached: true })
    left.once('spawn', () => console.log(left.pid))
    setInterval(() => {}, 1000)`
  const holder = Bun.spawn([process.execPath, '--eval', script], { stdout: 'pipe', stderr: 'inherit' })
  started.push(holder)
  const { value } = await holder.stdout.getReader().read()
  const left = Number(new TextDecoder().decode(value))
  try {
    const { lockDataFolder } = await import('./folder-lock.ts')
    const take = () => lockDataFolder(folder, () => crypto.randomUUID())
    expect(take).toThrow(`in use by another server (process ${holder.pid})`)
    holder.kill('SIGKILL')
    await holder.exited
    process.kill(left, 0)
    const [own, again] = [take(), () => take()]
    expect(again).toThrow(`process ${process.pid}`)
    own.release()
    const next = take()
    expect(next.folderId).toBe(own.folderId)
    next.release()
  } finally {
    process.kill(left, 'SIGKILL')
  }
}, 60_000)
