/** A start with an embedded database knows a folder that is not mounted, and one whose copy has served since. */
import { afterEach, beforeEach, expect, setDefaultTimeout, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { copyFile, cp, mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { check } from '../backup/check/check.ts'
import { parseConfig } from '../config.ts'
import { examineService } from '../doctor/examine-service.ts'
import { fillWithServer } from './testing-move.ts'
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
/** The file that a refusal says to remove. */
const fileIn = (refusal: string | null) => /remove the file (\S+\.json)\. Nothing/.exec(refusal ?? '')![1]!

/** Resolves with the line of a refusal. Null: it started, and was ended. */
async function tryStart(name: string, env: Record<string, string> = {}): Promise<string | null> {
  const place = { dir, databaseUrl: '', token, env: { SVC_DATA_DIR: folder(name), ...env } }
  const { child, url, errors } = await bootServer(place, () => {})
  child.kill('SIGTERM')
  await child.exited
  return url === null ? await errors() : null
}

const main = JSON.stringify(join(import.meta.dir, '../main.ts'))

async function refusalOf(command: string): Promise<string> {
  const run = `await (await import(${main})).runServer([${JSON.stringify(command)}], { knownSettings: async () => [] })`
  const child = Bun.spawn([process.execPath, '--eval', run], {
    stdin: new TextEncoder().encode(JSON.stringify({ place: folder('backups'), keyFile: null, keep: null })),
    stderr: 'pipe',
    env: {
      ...{ PATH: '/usr/local/bin:/usr/bin:/bin', HOME: dir, SVC_SANDBOX_DRIVER: 'none' },
      ...{ SVC_DATA_DIR: folder('data'), SVC_MASTER_KEY_FILE: join(dir, 'master.key') },
    },
  })
  const said = await new Response(child.stderr).text()
  expect(await child.exited).toBe(1)
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
  for (const command of ['--check', '--backup'])
    expect(await refusalOf(command)).toContain(`${folder('data')} is not the newest`)
  // Another user, or the same one with a key elsewhere, has other records.
  await copy('data', 'experiment')
  expect(await tryStart('experiment', { SVC_MASTER_KEY_FILE: folder('home/master.key') })).toBeNull()
  expect(await tryStart('copy')).toBeNull()

  await rm(fileIn(why))
  expect(await tryStart('data')).toBeNull()
  expect(await tryStart('copy')).toContain(`SVC_DATA_DIR=${folder('data')}`)
})
