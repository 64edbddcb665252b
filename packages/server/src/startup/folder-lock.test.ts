import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdtemp, writeFile } from 'node:fs/promises'
import { constants } from 'node:os'
import { join } from 'node:path'
import { makeTestServers } from './testing-server.ts'

let servers: Awaited<ReturnType<typeof makeTestServers>>
beforeAll(async () => {
  servers = await makeTestServers()
}, 120_000)
afterAll(() => servers.close(), 120_000)

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
}, 120_000)

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
}, 120_000)

test('a lock that cannot be written, as on a full disk or in a crash, leaves the id of the folder', async () => {
  const folder = await mkdtemp(join(servers.dir, 'unwritable-'))
  const { lockDataFolder, readFolderId } = await import('./folder-lock.ts')
  const first = lockDataFolder(folder, () => crypto.randomUUID())
  first.release()
  const lock = JSON.stringify(join(import.meta.dir, 'folder-lock.ts'))
  const script = `
    const { lockDataFolder } = await import(${lock})
    process.on('SIGXFSZ', () => {})
    lockDataFolder(${JSON.stringify(folder)}, () => crypto.randomUUID())`
  // No process of this shell can write to a file.
  const child = Bun.spawn(['sh', '-c', 'ulimit -f 0; exec "$@"', 'sh', process.execPath, '--eval', script], {
    stdout: 'ignore',
    stderr: 'pipe',
  })
  expect(await new Response(child.stderr).text()).toContain('EFBIG')
  expect(await child.exited).not.toBe(0)
  expect(readFolderId(folder)).toBe(first.folderId)
}, 120_000)

test('a folder of an earlier version keeps its id, and its holder is named', async () => {
  const folder = await mkdtemp(join(servers.dir, 'earlier-'))
  const { lockDataFolder } = await import('./folder-lock.ts')
  const id = crypto.randomUUID()
  await writeFile(join(folder, 'server.lock'), `12345678 ${id}\n`)
  const take = () => lockDataFolder(folder, () => crypto.randomUUID())
  const taken = take()
  expect(taken.folderId).toBe(id)
  expect(take).toThrow(`(process ${process.pid})`)
  taken.release()
})

const flockCalls: Partial<Record<NodeJS.Architecture, number>> = { x64: 73, arm64: 32 }

/** A seccomp filter: load the number of the system call; for `flock` return the error, otherwise allow it. */
function filterOf(call: number, errno: number): Buffer {
  const allow = 0x7fff0000
  const lines: [number, number, number, number][] = [
    [0x20, 0, 0, 0],
    [0x15, 0, 1, call],
    [0x06, 0, 0, 0x00050000 | errno],
    [0x06, 0, 0, allow],
  ]
  const filter = Buffer.alloc(lines.length * 8)
  for (const [index, [code, ifTrue, ifFalse, value]] of lines.entries()) {
    filter.writeUInt16LE(code, index * 8)
    filter.writeUInt8(ifTrue, index * 8 + 2)
    filter.writeUInt8(ifFalse, index * 8 + 3)
    filter.writeUInt32LE(value, index * 8 + 4)
  }
  return filter
}

const call = process.platform === 'linux' ? flockCalls[process.arch] : undefined

describe.skipIf(call === undefined || Bun.which('bwrap') === null)('a file system without file locks', () => {
  test.each(['ENOLCK', 'EOPNOTSUPP', 'EINVAL', 'ENOSYS'] as const)(
    'is the reason that a data folder or a backup gives for %s',
    async (code) => {
      const folder = await mkdtemp(join(servers.dir, 'lockless-'))
      await writeFile(join(folder, 'filter'), filterOf(call!, constants.errno[code]))
      const script = `
        const { lockDataFolder, lockFile } = await import(${JSON.stringify(join(import.meta.dir, 'folder-lock.ts'))})
        const reason = (act) => { try { return act() === null ? 'held' : 'locked' } catch (error) { return error.message } }
        console.log(JSON.stringify([
          reason(() => lockDataFolder(${JSON.stringify(folder)}, () => crypto.randomUUID())),
          reason(() => lockFile(${JSON.stringify(join(folder, 'backup.lock'))})),
        ]))`
      const sandbox = ['bwrap', '--dev-bind', '/', '/', '--seccomp', '3', '--', process.execPath, '--eval', script]
      const shell = ['sh', '-c', 'filter=$1; shift; exec "$@" 3<"$filter"', 'sh', join(folder, 'filter')]
      const child = Bun.spawn([...shell, ...sandbox], { stdout: 'pipe', stderr: 'pipe' })
      const [printed, failed] = [await new Response(child.stdout).text(), await new Response(child.stderr).text()]
      expect(failed).toBe('')
      expect(JSON.parse(printed)).toEqual([
        expect.stringContaining(`${folder} cannot be locked: its file system refuses file locks (`),
        expect.stringContaining(`${join(folder, 'backup.lock')} refuses file locks (`),
      ])
      // Two names of one number.
      expect(printed).toMatch(code === 'EOPNOTSUPP' ? /\((ENOTSUP|EOPNOTSUPP)\)/ : new RegExp(`\\(${code}\\)`))
    },
    120_000,
  )
})
