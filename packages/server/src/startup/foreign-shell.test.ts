/** Commands and a start in a shell without the settings of the server: another data folder, or the home of another user. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { chmod, chown, mkdir, mkdtemp, readdir, rename, rm, stat, writeFile } from 'node:fs/promises'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { createTestDatabase, type TestDatabase } from '../db/testing-cluster.ts'
import { programOf } from './testing-program.ts'

setDefaultTimeout(300_000)

/** Another user cannot run the program that the files of a test run share. */
const sources = [process.execPath, join(import.meta.dir, '../../../svc/src/main.ts')]

let dir: string
let database: TestDatabase
let empty: TestDatabase
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'svc-folder-'))
  database = await createTestDatabase({ name: 'external', prepare: async () => {} })
  empty = await createTestDatabase({ name: 'empty', prepare: async () => {} })
})
afterAll(async () => {
  for (const folder of ['first', 'second']) await selfHost(['stop'], folder)
  for (const each of [database, empty]) await each.drop()
  await rm(dir, { recursive: true, force: true })
})

/** Each folder has a client of its own, as on machines of their own. */
async function selfHost(args: string[], folder: string, env: Record<string, string> = {}, runAs: string[] = []) {
  const program = runAs.length > 0 ? sources : await programOf('svc')
  const child = Bun.spawn([...runAs, ...program, 'self-host', ...args], {
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
    env: {
      ...{
        PATH: '/usr/local/bin:/usr/bin:/bin',
        HOME: dir,
        DATABASE_URL: database.url,
        SVC_DATA_DIR: join(dir, folder),
      },
      ...{ SVC_MASTER_KEY_FILE: join(dir, 'master.key'), SVC_CONFIG_FILE: join(dir, `of-${folder}/config.json`) },
      ...{ SVC_SANDBOX_DRIVER: 'none', SVC_PORT: '0', ...env },
    },
  })
  const [stdout, stderr] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()])
  return { code: await child.exited, stdout, stderr }
}

const started = async (folder: string) => {
  const { code, stdout, stderr } = await selfHost(['start'], folder)
  expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining('The server is running') })
  return stderr
}

test('a check and a backup refuse a folder that is of no server, and name the servers that the database has', async () => {
  expect(await started('first')).not.toContain('joins')
  const name = (await Bun.file(join(dir, 'first/server-name')).text()).trim()
  const has = `has 1 server: ${name} (${join(dir, 'first')} on ${hostname()}). Set SVC_DATA_DIR to the data folder`
  await mkdir(join(dir, 'other'))
  await writeFile(join(dir, 'other/file'), 'of something else')
  for (const command of [['check'], ['backup', join(dir, 'backups')]]) {
    for (const [folder, why] of [
      ['missing', 'does not exist'],
      ['other', 'is not the data folder of a server of this database'],
    ] as const) {
      const { code, stdout, stderr } = await selfHost(command, folder)
      expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
      expect(stderr).toContain(`${join(dir, folder)} ${why}. The database `)
      expect(stderr).toContain(has)
    }
    expect(await selfHost(command, 'first')).toMatchObject({ code: 0 })
  }
  const onEmpty = await selfHost(['check'], 'missing', { DATABASE_URL: empty.url })
  expect([onEmpty.code, onEmpty.stderr]).toEqual([1, expect.stringContaining(') is empty: no server has run on it')])
})

test('a start that joins other servers with a new folder says so, once, and its folder without projects is accepted', async () => {
  const name = (await Bun.file(join(dir, 'first/server-name')).text()).trim()
  const joins = `joins 1 other server: ${name} (${join(dir, 'first')} on ${hostname()}). If it is meant to be one of them`
  expect(await started('second')).toContain(joins)
  expect(await Bun.file(join(dir, 'second/log/server.log')).text()).toContain(
    `Warning: The data folder ${join(dir, 'second')} is new to`,
  )
  expect(await selfHost(['check'], 'second')).toMatchObject({ code: 0 })
  expect(await selfHost(['stop'], 'second')).toMatchObject({ code: 0 })
  expect(await started('second')).not.toContain('joins')
})

const nobody = 65_534
const asNobody = ['setpriv', '--reuid', String(nobody), '--regid', String(nobody), '--clear-groups']

test.if(process.getuid?.() === 0)(
  'root finds the key of a running server of another user, and says of a stopped one that it does not know it',
  async () => {
    const shell = { HOME: join(dir, 'home-of-root'), SVC_MASTER_KEY_FILE: '' }
    const backup = ['backup', join(dir, 'backups')]
    expect(await selfHost(['check'], 'first', shell)).toMatchObject({ code: 0 })
    const whileItRuns = await selfHost(backup, 'first', shell)
    expect([whileItRuns.code, whileItRuns.stderr]).toEqual([0, expect.not.stringContaining('master key:')])
    const rotated = await selfHost(['rotate-key'], 'first', shell)
    expect([rotated.code, rotated.stdout]).toEqual([0, expect.stringContaining(join(dir, 'master.key'))])

    expect(await selfHost(['stop'], 'first')).toMatchObject({ code: 0 })
    for (const path of ['first', 'first/server.lock']) await chown(join(dir, path), nobody, nobody)
    const says = 'This command does not know where that user has it. Run it as that user (sudo -Hu nobody '
    const check = await selfHost(['check'], 'first', shell)
    expect([check.code, check.stdout]).toEqual([1, expect.stringContaining('The keys were not checked: /')])
    expect(check.stdout).toContain(says)
    const { code, stderr } = await selfHost(backup, 'first', shell)
    expect([code, stderr]).toEqual([0, expect.stringContaining(says)])
    expect(stderr).not.toContain('the next start fails')
    expect((await selfHost(['rotate-key'], 'first', shell)).stderr).toContain(says)
    expect(await selfHost(['check'], 'first', { HOME: shell.HOME })).toMatchObject({ code: 0 })
  },
)

test('a restore refuses an empty DATABASE_URL beside a saved one, which would count, and says what does', async () => {
  const saved = join(dir, 'of-restored/self-host.env')
  await mkdir(join(dir, 'of-restored'))
  await writeFile(saved, `DATABASE_URL="${database.url}"\n`)
  const { code, stderr } = await selfHost(['restore', join(dir, 'backups')], 'restored', { DATABASE_URL: '' })
  expect([code, stderr]).toEqual([
    1,
    expect.stringContaining(`DATABASE_URL= does not unset the saved setting of ${saved}`),
  ])
  const [, words] = /put (SVC_CONFIG_FILE=\S+) in front/.exec(stderr) ?? []
  const env = { DATABASE_URL: '', SVC_CONFIG_FILE: words!.split('=')[1]! }
  expect(await selfHost(['restore', join(dir, 'backups')], 'restored', env)).toMatchObject({ code: 0 })
})

test.if(process.getuid?.() === 0)(
  'a start in a folder that root restored names its owner and the command that gives it away',
  async () => {
    await chmod(dir, 0o755)
    await mkdir(join(dir, 'of-nobody'))
    await chown(join(dir, 'of-nobody'), nobody, nobody)
    const folder = join(dir, 'restored')
    const child = Bun.spawn([...asNobody, ...sources, 'self-host', 'start', '--yes'], {
      ...{ stdin: 'ignore', stdout: 'ignore', stderr: 'pipe' },
      env: { PATH: process.env.PATH, HOME: join(dir, 'of-nobody'), SVC_DATA_DIR: folder, SVC_SANDBOX_DRIVER: 'none' },
    })
    const said = await new Response(child.stderr).text()
    expect(await child.exited).toBe(1)
    expect(said).toContain(`${folder} belongs to another user (root, 0), and this user cannot write there`)
    expect(said).toContain(`sudo chown -R ${nobody} ${folder}`)
  },
)

test.if(process.getuid?.() === 0)(
  'a server in a folder of root has its key and its record in the home folder of its own user',
  async () => {
    await chmod(dir, 0o755)
    const home = join(dir, 'home-of-nobody')
    for (const name of ['home-of-nobody', 'shared']) await mkdir(join(dir, name))
    await chown(home, nobody, nobody)
    await chown(join(dir, 'shared'), 0, nobody)
    await chmod(join(dir, 'shared'), 0o2775)
    const shell = { HOME: home, SVC_CONFIG_FILE: join(home, 'config.json'), DATABASE_URL: '', SVC_MASTER_KEY_FILE: '' }
    const run = (...args: string[]) => selfHost(args, 'shared', shell, asNobody)
    const keyFile = join(home, '.config/svc/master.key')
    try {
      expect(await run('start', '--yes')).toMatchObject({ code: 0 })
      const ofRoot = { DATABASE_URL: '', HOME: join(dir, 'home-of-root'), SVC_MASTER_KEY_FILE: '' }
      for (const rotated of [await run('rotate-key'), await selfHost(['rotate-key'], 'shared', ofRoot)])
        expect(rotated).toMatchObject({ code: 0, stdout: expect.stringContaining(keyFile) })
    } finally {
      await run('stop')
    }
    // A file that root replaces keeps its owner.
    expect((await stat(keyFile)).uid).toBe(nobody)
    const backup = await run('backup', join(home, 'backups'))
    expect([backup.code, backup.stderr]).toEqual([0, expect.not.stringContaining('master key:')])
    expect(await run('rotate-key')).toMatchObject({ code: 0, stdout: expect.stringContaining(keyFile) })
    await mkdir(join(dir, 'away'))
    for (const name of await readdir(join(dir, 'shared')))
      await rename(join(dir, 'shared', name), join(dir, 'away', name))
    const records = join(home, '.config/svc/data-folders')
    const [record] = (await readdir(records)).map((name) => join(records, name))
    await writeFile(record!, JSON.stringify({ ...(await Bun.file(record!).json()), continued_in: join(dir, 'away') }))
    const { code, stderr } = await run('start', '--yes')
    expect([code, stderr]).toEqual([1, expect.stringContaining('is empty, and a server ran in it')])
    // The command is for the settings of this shell.
    const save = `SVC_CONFIG_FILE=${shell.SVC_CONFIG_FILE} svc self-host env set SVC_DATA_DIR=${join(dir, 'away')}`
    expect(stderr).toContain(`Set SVC_DATA_DIR to that folder: ${save}`)
  },
)
