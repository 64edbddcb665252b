import { afterEach, describe, expect, test } from 'bun:test'
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  chmodSync,
  chownSync,
  cpSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import pino from 'pino'
import { makeEgressGate } from '../egress/gate.ts'
import { Listener } from '../listen.ts'
import { makeRunDir, recordedRunDir, tidyRunDir } from './run-dir.ts'

/** A second user of the machine tries each path the server makes, before it starts and while it runs. */

const run = promisify(execFile)
const isRoot = process.getuid?.() === 0
const stranger = 4242
const former = process.env.TMPDIR
const made: string[] = []

afterEach(() => {
  if (former === undefined) delete process.env.TMPDIR
  else process.env.TMPDIR = former
  for (const path of made.splice(0)) rmSync(path, { recursive: true, force: true })
})

/** A temporary folder as /tmp is, and a data folder whose path is too long for sockets. */
function machine(options: { long?: boolean } = {}) {
  const tmp = mkdtempSync('/tmp/svc-m-')
  made.push(tmp)
  chmodSync(tmp, 0o1777)
  process.env.TMPDIR = tmp
  const home = join(tmp, 'home')
  mkdirSync(home, { mode: 0o755 })
  const dataDir = join(home, options.long === false ? 'd' : 'd'.repeat(80))
  return { tmp, home, dataDir }
}

async function asStranger(script: string, ...args: string[]): Promise<number> {
  const prefix = [`--reuid=${stranger}`, `--regid=${stranger}`, '--clear-groups', '/bin/sh', '-c', script, 'stranger']
  return run('setpriv', [...prefix, ...args]).then(
    () => 0,
    (error: { code: number }) => error.code,
  )
}

const isPrivate = (path: string) => {
  const info = lstatSync(path)
  return info.isDirectory() && info.uid === (process.getuid?.() ?? 0) && (info.mode & 0o077) === 0
}

describe('the run folder', () => {
  test('is below the data folder where its path is short enough, and made private again', async () => {
    const { dataDir } = machine({ long: false })
    const runDir = await makeRunDir({ dataDir, runtimeDir: null })
    expect([runDir, isPrivate(runDir)]).toEqual([join(dataDir, 'run'), true])
    chmodSync(runDir, 0o777)
    expect([await makeRunDir({ dataDir, runtimeDir: null }), isPrivate(runDir)]).toEqual([runDir, true])
  })

  test('has a random name in the temporary folder otherwise, which the next start finds again', async () => {
    const { tmp, dataDir } = machine()
    const config = { dataDir, runtimeDir: null }
    const runDir = await makeRunDir(config)
    expect([runDir.startsWith(join(tmp, 'svc-run-')), isPrivate(runDir)]).toEqual([true, true])
    expect([await makeRunDir(config), await recordedRunDir(config)]).toEqual([runDir, runDir])
    chmodSync(runDir, 0o755)
    expect(await makeRunDir(config)).not.toBe(runDir)
  })

  test('is in the runtime folder of the user, if that is private', async () => {
    const { tmp, dataDir } = machine()
    const runtimeDir = join(tmp, 'r')
    mkdirSync(runtimeDir, { mode: 0o755 })
    expect((await makeRunDir({ dataDir, runtimeDir })).startsWith(join(tmp, 'svc-run-'))).toBeTrue()
    rmSync(join(dataDir, 'run-folder'))
    chmodSync(runtimeDir, 0o700)
    const runDir = await makeRunDir({ dataDir, runtimeDir })
    expect([runDir.startsWith(`${runtimeDir}/svc-`), isPrivate(runDir)]).toEqual([true, true])
  })

  test('is not shared with a copy of the data folder, and a renamed data folder keeps it', async () => {
    const { tmp, dataDir } = machine()
    const runtimeDir = join(tmp, 'r')
    mkdirSync(runtimeDir, { mode: 0o700 })
    for (const config of [
      { dataDir: `${dataDir}1`, runtimeDir: null },
      { dataDir: `${dataDir}2`, runtimeDir },
    ]) {
      const runDir = await makeRunDir(config)
      // As an earlier version made it.
      rmSync(join(runDir, 'data-folder'), { force: true })
      expect(await makeRunDir(config)).toBe(runDir)
      const moved = { ...config, dataDir: `${config.dataDir}-moved` }
      renameSync(config.dataDir, moved.dataDir)
      cpSync(moved.dataDir, config.dataDir, { recursive: true })
      const ofCopy = await makeRunDir(config)
      expect([ofCopy !== runDir && isPrivate(ofCopy), await makeRunDir(config)]).toEqual([true, ofCopy])
      expect(await makeRunDir(moved)).toBe(runDir)
    }
  })

  test('stays elsewhere after a move to a short path until its sandboxes have ended', async () => {
    const { home, dataDir } = machine()
    const runDir = await makeRunDir({ dataDir, runtimeDir: null })
    const record = join(runDir, 'sandboxes/run/one.json')
    mkdirSync(dirname(record), { recursive: true })
    writeFileSync(record, '{}')
    const moved = { dataDir: join(home, 'd'), runtimeDir: null }
    renameSync(dataDir, moved.dataDir)
    expect(await makeRunDir(moved)).toBe(runDir)
    const copy = { ...moved, dataDir: join(home, 'c') }
    cpSync(moved.dataDir, copy.dataDir, { recursive: true })
    expect(await makeRunDir(copy)).toBe(join(copy.dataDir, 'run'))
    rmSync(record)
    await tidyRunDir(runDir)
    expect(await makeRunDir(moved)).toBe(join(moved.dataDir, 'run'))
  })

  test('is never a link, and no data folder is open to everybody', async () => {
    const { tmp, dataDir } = machine({ long: false })
    mkdirSync(dataDir)
    mkdirSync(join(tmp, 'elsewhere'), { mode: 0o755 })
    symlinkSync(join(tmp, 'elsewhere'), join(dataDir, 'run'))
    await expect(makeRunDir({ dataDir, runtimeDir: null })).rejects.toThrow('is a link or belongs to another user')
    expect(statSync(join(tmp, 'elsewhere')).mode & 0o777).toBe(0o755)
    chmodSync(dataDir, 0o777)
    await expect(makeRunDir({ dataDir, runtimeDir: null })).rejects.toThrow('Every user of this machine can change')
  })
})

describe.skipIf(!isRoot)('another user of the machine', () => {
  test('who makes every name first that can be predicted gets none of our sockets', async () => {
    const { tmp, dataDir } = machine()
    const hash = createHash('sha256').update(dataDir).digest('hex')
    const id = hash.slice(0, 12)
    for (const name of [`svc-0-${id}`, `svc-${hash.slice(0, 8)}`, 'svc-run', 'svc-run-'])
      expect(await asStranger('mkdir -m 777 "$1"', join(tmp, name))).toBe(0)
    mkdirSync(dataDir)
    const runtimeDir = join(tmp, 'theirs')
    await asStranger('mkdir -m 700 "$1"', runtimeDir)
    for (const planted of [`svc-0-${id}`, `svc-${hash.slice(0, 8)}`, 'svc-run', 'theirs', 'theirs-link'].map((name) =>
      join(tmp, name),
    )) {
      await asStranger('[ -e "$1" ] || ln -s "$2" "$1"', planted, join(tmp, 'svc-run'))
      // As if an earlier server had taken it.
      writeFileSync(join(dataDir, 'run-folder'), planted)
      const runDir = await makeRunDir({ dataDir, runtimeDir })
      expect([planted, runDir !== planted && isPrivate(runDir)]).toEqual([planted, true])
    }
  })

  test('who owns the data folder or its run folder is no user we serve from', async () => {
    const { dataDir } = machine({ long: false })
    mkdirSync(join(dataDir, 'run'), { recursive: true })
    chownSync(join(dataDir, 'run'), stranger, stranger)
    await expect(makeRunDir({ dataDir, runtimeDir: null })).rejects.toThrow('belongs to another user')
    chownSync(dataDir, stranger, stranger)
    await expect(makeRunDir({ dataDir, runtimeDir: null })).rejects.toThrow('belongs to another user')
  })

  test('who may replace folders in the temporary folder keeps the server from starting', async () => {
    const { tmp, dataDir } = machine()
    chmodSync(tmp, 0o777)
    await expect(makeRunDir({ dataDir, runtimeDir: null })).rejects.toThrow('Other users can replace folders')
  })

  test('neither sees, opens nor exchanges a path while the server runs', async () => {
    const { dataDir } = machine()
    const runDir = await makeRunDir({ dataDir, runtimeDir: null })
    const relay = new Listener({ fromSandbox: true })
    await relay.onSocket(join(runDir, 'relay', 'relay.sock'))
    const log = pino({ level: 'silent' })
    const gate = makeEgressGate({ folder: join(runDir, 'egress'), operator: 'any', log })
    const egress = (await gate.open('a-sandbox', [], {}))!
    try {
      for (const path of [dataDir, runDir, join(runDir, 'relay', 'relay.sock'), join(runDir, 'egress'), egress])
        for (const attempt of [
          'ls "$1"/',
          'cat "$1"',
          'mv "$1" "$1-theirs"',
          'rm -rf "$1"; [ ! -e "$1" ] && mkdir "$1"',
          'touch "$1"/planted',
          'ln -s /tmp "$1"/planted',
          'chmod 777 "$1"',
          'curl --silent --max-time 5 --unix-socket "$1" http://localhost/v1/health',
        ])
          expect([attempt, path, (await asStranger(attempt, path)) !== 0]).toEqual([attempt, path, true])
      expect([isPrivate(runDir), lstatSync(join(runDir, 'relay', 'relay.sock')).isSocket()]).toEqual([true, true])
    } finally {
      await gate.close('a-sandbox')
      await relay.close()
    }
  })
})
