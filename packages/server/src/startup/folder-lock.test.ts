import { afterAll, beforeAll, expect, test } from 'bun:test'
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { makeToken } from '@svc/contract'
import { migrate } from '../db/migrate.ts'
import { createTestDatabase, type TestDatabase } from '../db/testing-cluster.ts'

/** Servers in processes of their own, on one data folder and a PostgreSQL of their operator. */

let database: TestDatabase
let dir: string
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

const main = JSON.stringify(join(import.meta.dir, '../main.ts'))
const program = `await (await import(${main})).runServer([], { rememberOwner: async () => null, knownSettings: async () => [] })`

/** Resolves when the server listens, or when it has ended. */
async function boot() {
  const child = Bun.spawn([process.execPath, '--eval', program], {
    stdout: 'pipe',
    stderr: 'pipe',
    env: {
      PATH: '/usr/local/bin:/usr/bin:/bin',
      DATABASE_URL: database.url,
      SVC_DATA_DIR: join(dir, 'data'),
      SVC_MASTER_KEY_FILE: join(dir, 'master.key'),
      SVC_BOOTSTRAP_TOKEN: makeToken((count) => randomBytes(count)),
      SVC_SANDBOX_DRIVER: 'none',
      SVC_PORT: '0',
      SVC_LOG: 'json',
    },
  })
  started.push(child)
  let output = ''
  for await (const chunk of child.stdout.pipeThrough(new TextDecoderStream())) {
    output += chunk
    if (/Dashboard +http:\S+/.test(output)) return { child, isUp: true, errors: '' }
  }
  return { child, isUp: false, errors: await new Response(child.stderr).text() }
}

test('a second server on a data folder in use refuses with one line, and starts as soon as the first was killed', async () => {
  const first = await boot()
  expect([first.isUp, first.errors]).toEqual([true, ''])
  const second = await boot()
  expect([second.isUp, await second.child.exited, second.errors]).toEqual([
    false,
    1,
    `svc server: The data folder ${join(dir, 'data')} is in use by another server (process ${first.child.pid}). Stop that server first, or set SVC_DATA_DIR to another folder.\n`,
  ])
  // It names the holder, also after others were refused.
  expect((await boot()).errors).toContain(`process ${first.child.pid}`)
  first.child.kill('SIGKILL')
  await first.child.exited
  const third = await boot()
  expect([third.isUp, third.errors]).toEqual([true, ''])
  expect((await boot()).errors).toContain(`process ${third.child.pid}`)
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
