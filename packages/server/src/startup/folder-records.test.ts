/** A start with an embedded database knows a folder that is not mounted, and one whose copy has served since. */
import { afterEach, beforeEach, expect, setDefaultTimeout, test } from 'bun:test'
import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { copyFile, cp, mkdir, mkdtemp, readdir, readFile, rename, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { check } from '../backup/check/check.ts'
import { parseConfig } from '../config.ts'
import { examineService } from '../doctor/examine-service.ts'
import { readRecords } from './folder-records.ts'
import { createOwnedDatabase, fillWithServer, runMove } from './testing-move.ts'
import { programOf } from './testing-program.ts'
import { bootServer } from './testing-server.ts'

setDefaultTimeout(300_000)

let dir: string
let token: string
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'svc-records-'))
  token = (await fillWithServer('', dir)).token
})
afterEach(() => rm(dir, { recursive: true, force: true }))

const folder = (name: string) => join(dir, name)
const configOf = (name: string) =>
  parseConfig({
    ...{ HOME: dir, SVC_DATA_DIR: folder(name), SVC_MASTER_KEY_FILE: join(dir, 'master.key') },
    SVC_SANDBOX_DRIVER: 'none',
  })
const copy = (from: string, to: string) => cp(folder(from), folder(to), { recursive: true })
const recordOf = (name: string) => readRecords(configOf(name)).find(({ data_dir }) => data_dir === folder(name))!.file
/** The file that a refusal says to remove. */
const fileIn = (refusal: string | null) => /remove the file (\S+\.json)\. Nothing/.exec(refusal ?? '')![1]!

const boot = (name: string, env: Record<string, string> = {}) =>
  bootServer({ dir, databaseUrl: '', token, env: { SVC_DATA_DIR: folder(name), ...env } }, () => {})

/** Resolves with the line of a refusal. Null: it started, and was ended. */
async function tryStart(name: string, env: Record<string, string> = {}): Promise<string | null> {
  const { child, url, errors } = await boot(name, env)
  child.kill('SIGTERM')
  await child.exited
  return url === null ? await errors() : null
}

/** Runs a command of `svc self-host` on the folder `data`. */
async function runCommand(
  command: string,
  input: unknown,
  env: Record<string, string> = {},
): Promise<{ code: number; said: string }> {
  const child = Bun.spawn([...(await programOf('test-server')), 'server', command], {
    stdin: new TextEncoder().encode(typeof input === 'string' ? input : JSON.stringify(input)),
    stdout: 'ignore',
    stderr: 'pipe',
    env: {
      ...{ PATH: '/usr/local/bin:/usr/bin:/bin', HOME: dir, SVC_SANDBOX_DRIVER: 'none' },
      ...{ SVC_DATA_DIR: folder('data'), SVC_MASTER_KEY_FILE: join(dir, 'master.key'), ...env },
    },
  })
  const said = await new Response(child.stderr).text()
  return { code: await child.exited, said }
}

const toBackups = () => ({ place: folder('backups'), keyFile: null, keep: null })

async function refusalOf(command: string, input: unknown = toBackups()): Promise<string> {
  const { code, said } = await runCommand(command, input)
  expect(code).toBe(1)
  return said
}

test('a server whose data folder is away does not begin anew there, and says what is missing', async () => {
  await rename(folder('data'), folder('away'))
  const empty = `The data folder ${folder('data')} is empty, and a server ran in it (last at `
  const why = await tryStart('data')
  expect(why).toContain(empty)
  expect(why).toContain('Mount its disk')
  expect(existsSync(folder('data'))).toBe(false)
  // As the folder below a disk that is not mounted.
  await mkdir(folder('data'), { mode: 0o700 })
  expect(await tryStart('data')).toContain(empty)
  expect(await readdir(folder('data'))).toEqual([])
  const config = configOf('data')
  await expect(check(config, () => {})).rejects.toThrow(empty)
  const findings = (await examineService({ config, db: null })).flatMap((group) => group.findings)
  expect(findings.find(({ name }) => name === 'database')).toMatchObject({
    state: 'missing',
    says: expect.stringContaining('is empty, and a server ran in it'),
  })

  await rm(folder('data'), { recursive: true })
  await rename(folder('away'), folder('data'))
  expect(await tryStart('data')).toBeNull()

  // It moved, and another start does not know the setting.
  await rename(folder('data'), folder('moved'))
  expect(await tryStart('moved')).toBeNull()
  expect(await tryStart('data')).toContain(`svc self-host env set SVC_DATA_DIR=${folder('moved')}`)
  await rm(fileIn(why))
  expect(await tryStart('data')).toBeNull()
})

test('the original of a copied folder neither starts nor is backed up once the copy has served', async () => {
  await copy('data', 'copy')
  await mkdir(folder('home'))
  await copyFile(join(dir, 'master.key'), folder('home/master.key'))
  expect(await tryStart('copy')).toBeNull()
  const why = await tryStart('data')
  expect(why).toContain(`The data folder ${folder('data')} is not the newest: a server ran in ${folder('copy')} since`)
  expect(why).toContain(`svc self-host env set SVC_DATA_DIR=${folder('copy')}`)
  for (const command of ['--check', '--backup', '--rotate-key'])
    expect(await refusalOf(command)).toContain(`${folder('data')} is not the newest`)
  expect(await refusalOf('--move-database', 'postgres://svc@127.0.0.1:1/svc')).toContain('is not the newest')
  const [found] = (await examineService({ config: configOf('data'), db: null })).flatMap(({ findings }) =>
    findings.filter(({ name }) => name === 'database'),
  )
  expect(found).toMatchObject({ state: 'missing', says: expect.stringContaining('is not the newest') })
  // Another user, or the same one with a key elsewhere, has other records.
  await copy('data', 'experiment')
  expect(await tryStart('experiment', { SVC_MASTER_KEY_FILE: folder('home/master.key') })).toBeNull()
  expect(await tryStart('copy')).toBeNull()

  await rm(fileIn(why))
  expect(await tryStart('data')).toBeNull()
  expect(await tryStart('copy')).toContain(`SVC_DATA_DIR=${folder('data')}`)
})

test('a copy does not start beside its original, nor after a crash that left the original newer', async () => {
  const original = await boot('data')
  // Node.js copies no sockets. PostgreSQL removes files of its own while they are copied.
  const { stderr } = Bun.spawnSync(['cp', '-a', folder('data'), folder('copy')])
  const lines = stderr.toString().split('\n').filter(Boolean)
  expect(lines.filter((line) => !line.endsWith(': No such file or directory'))).toEqual([])
  const both = `The data folder ${folder('copy')} and ${folder('data')} are copies of the same data, and `
  expect(await tryStart('copy')).toContain(`${both}a running server uses the second`)
  original.child.kill('SIGKILL')
  await original.child.exited
  expect(await tryStart('copy')).toContain(`${both}the server in the second did not stop in an orderly way`)
  // A path may lead to the same folder.
  await symlink(folder('data'), folder('link'))
  expect(await tryStart('link')).toBeNull()
  expect(await tryStart('copy')).toContain('is not the newest')

  // As `svc self-host stop --sessions` of a stopped server.
  expect(await runCommand('--end-sandboxes', '')).toMatchObject({ code: 0 })
  await copy('data', 'moved')
  expect(await tryStart('moved')).toBeNull()
})

test('another folder at the path of the last one is refused, unless it was restored there', async () => {
  await rename(folder('data'), folder('away'))
  await rm(/remove the file (\S+\.json)\. Nothing/.exec((await tryStart('data'))!)![1]!)
  expect(await tryStart('data')).toBeNull()
  await rename(folder('data'), folder('begun'))
  await rename(folder('away'), folder('data'))
  const other = `The data folder ${folder('data')} is another one than that in which a server last ran at this path`
  const why = await tryStart('data')
  expect(why).toContain(other)
  expect(await refusalOf('--backup')).toContain(other)
  await rm(fileIn(why))
  expect(await tryStart('data')).toBeNull()

  expect(await runCommand('--backup', toBackups())).toMatchObject({ code: 0 })
  await rename(folder('data'), folder('lost'))
  const before = { path: recordOf('data'), text: await readFile(recordOf('data'), 'utf8') }
  const restored = { places: [folder('backups')], backupId: null, keyFiles: [], acceptLoss: false }
  // The key of another place, which has no records.
  await mkdir(folder('usb'))
  const usb = { SVC_MASTER_KEY_FILE: folder('usb/master.key') }
  await copyFile(join(dir, 'master.key'), usb.SVC_MASTER_KEY_FILE)
  expect(await runCommand('--restore', restored, usb)).toMatchObject({ code: 0 })
  expect(await tryStart('data')).toBeNull()
  // A record that the first start did not find, as under another host name.
  await Bun.write(before.path, before.text)
  expect(await tryStart('data')).toBeNull()
  await rename(folder('data'), folder('restored'))
  await rename(folder('lost'), folder('data'))
  expect(await tryStart('data')).toContain(other)

  // The id of a folder is lost with its lock file, and its marks tell that it is the same.
  await rename(folder('data'), folder('lost'))
  await rename(folder('restored'), folder('data'))
  await rm(join(folder('data'), 'server.lock'))
  expect(await tryStart('data')).toBeNull()
})

test('the order of folders depends neither on the clock nor on the number of marks', async () => {
  const record = Bun.file(recordOf('data'))
  await record.write(JSON.stringify({ ...(await record.json()), at: '2999-01-01T00:00:00.000Z' }))
  await copy('data', 'moved')
  expect(await tryStart('moved')).toBeNull()
  expect(await tryStart('data')).toContain('is not the newest')

  // A year of marks.
  const marks = Array.from({ length: 5_000 }, () => `${randomUUID()} ${new Date().toISOString()}\n`)
  const kept = Bun.file(join(folder('moved'), 'start-marks'))
  await kept.write([...marks, await kept.text()].join(''))
  expect(await tryStart('moved', { SVC_ROLES: 'api' })).toBeNull()
  await copy('moved', 'next')
  expect(await tryStart('next')).toBeNull()
  expect(await tryStart('data')).toContain(`SVC_DATA_DIR=${folder('next')}`)

  // A snapshot that is put back.
  await rm(folder('next'), { recursive: true })
  await copy('moved', 'next')
  const { child, url, errors } = await boot('next')
  child.kill('SIGTERM')
  expect(url).not.toBeNull()
  expect(await errors()).toContain(
    `The data folder ${folder('next')} is of an earlier time than when a server last ran`,
  )
})

test('a copy of before the data moved to a PostgreSQL of the operator does not start, and they come back', async () => {
  const { url, drop } = await createOwnedDatabase()
  const env = { SVC_DATA_DIR: folder('data'), SVC_MASTER_KEY_FILE: join(dir, 'master.key'), HOME: dir }
  try {
    await copy('data', 'before')
    expect(await runMove(url, env)).toMatchObject({ code: 0 })
    const older = `The data folder ${folder('before')} is not the newest: a server ran in ${folder('data')} since`
    expect(await tryStart('before')).toContain(older)

    expect(await tryStart('data', { DATABASE_URL: url })).toBeNull()
    // More marks came since than are kept.
    const kept = Bun.file(join(folder('data'), 'start-marks'))
    await kept.write((await kept.text()).split('\n').slice(-2).join('\n'))
    expect(await tryStart('before')).toContain(older)

    // The older one was started all the same.
    const own = await Bun.file(recordOf('data')).json()
    const other = Bun.file(join(dir, 'data-folders/other.json'))
    await other.write(JSON.stringify({ ...own, data_dir: folder('before'), mark: randomUUID() }))
    const back = { ...env, DATABASE_URL: url }
    expect((await runMove('embedded', back)).stderr).toContain(`${folder('data')} is not the newest`)
    await other.delete()
    expect(await runMove('embedded', back)).toMatchObject({ code: 0 })
    const { child, url: started, errors } = await boot('data')
    child.kill('SIGTERM')
    expect(started).not.toBeNull()
    expect(await errors()).not.toContain('of an earlier time')
  } finally {
    await drop()
  }
})
