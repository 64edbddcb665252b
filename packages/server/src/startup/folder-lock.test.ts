import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdtemp } from 'node:fs/promises'
import { join } from 'node:path'
import { makeTestServers } from './testing-server.ts'

let servers: Awaited<ReturnType<typeof makeTestServers>>
beforeAll(async () => {
  servers = await makeTestServers()
}, 60_000)
afterAll(() => servers.close(), 60_000)

test('a second server on a data folder in use refuses with one line, and starts as soon as the first was killed', async () => {
  const first = await servers.boot()
  expect(first.url).toBeString()
  const second = await servers.boot()
  expect([second.url, await second.child.exited, await second.errors()]).toEqual([
    null,
    1,
    `svc server: The data folder ${join(servers.dir, 'data')} is in use by another server (process ${first.child.pid}). Stop that server first, or set SVC_DATA_DIR to another folder.\n`,
  ])
  // It names the holder, also after others were refused.
  expect(await (await servers.boot()).errors()).toContain(`process ${first.child.pid}`)
  first.child.kill('SIGKILL')
  await first.child.exited
  const third = await servers.boot()
  expect(third.url).toBeString()
  expect(await (await servers.boot()).errors()).toContain(`process ${third.child.pid}`)
}, 60_000)

test('a program that a killed server started does not hold its lock', async () => {
  const folder = await mkdtemp(join(servers.dir, 'inherited-'))
  const lock = JSON.stringify(join(import.meta.dir, 'folder-lock.ts'))
  const script = `
    const { lockDataFolder } = await import(${lock})
    lockDataFolder(${JSON.stringify(folder)}, () => crypto.randomUUID())
    const { spawn } = await import('node:child_process')
    const left = spawn('sleep', ['600'], { stdio: 'ignore', detached: true })
    left.once('spawn', () => console.log(left.pid))
    setInterval(() => {}, 1000)`
  const holder = Bun.spawn([process.execPath, '--eval', script], { stdout: 'pipe', stderr: 'inherit' })
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
    holder.kill('SIGKILL')
    process.kill(left, 'SIGKILL')
  }
}, 60_000)
