/** Backups that a disk or a copy has damaged, and places that are no good ones: the operator reads what is wrong. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { randomBytes } from 'node:crypto'
import { cp, mkdir, mkdtemp, readdir, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { document } from './document.ts'
import { makeFirstCommit, program, removeFolder, run, Server } from './harness.ts'

setDefaultTimeout(300_000)

let server: Server
let dir: string
let project: string
/** A backup that no test changes. */
let whole: string

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'svc-damaged-'))
  whole = join(dir, 'whole')
  server = await Server.start({ SVC_SANDBOX_DRIVER: 'none' })
  project = (await server.json<{ project_id: string }>(['projects', 'create', '--name', 'kept'])).project_id
  await makeFirstCommit(server, project, { 'random.txt': randomBytes(300_000).toString('base64') })
  // Sealed values do not compress, so that their table has many chunks.
  for (let count = 0; count < 6; count++) {
    const secret = { name: `KEY_${count}`, value: randomBytes(45_000).toString('base64') }
    await server.send('POST', `/v1/projects/${project}/secrets`, secret)
  }
  await backUp(whole)
})
afterAll(async () => {
  await server?.end()
  await removeFolder(dir)
})

interface BackedUp {
  backup_id: string
  backups: number
}

const selfHost = (args: string[], env: Record<string, string> = server.env) =>
  run([program, 'self-host', ...args], { env, cwd: dir })

const backUp = (place: string, ...flags: string[]) =>
  document<BackedUp>(selfHost(['backup', place, '--json', ...flags]))

async function refused(args: string[], env?: Record<string, string>): Promise<string> {
  const { code, stdout, stderr } = await selfHost(args, env)
  expect([args, stdout, code]).toEqual([args, '', 1])
  return stderr
}

async function copyOf(place: string, name: string): Promise<string> {
  await cp(place, join(dir, name), { recursive: true })
  return join(dir, name)
}

async function targetFor(name: string): Promise<Record<string, string>> {
  const home = join(dir, `${name}-target`)
  await cp(server.env.SVC_MASTER_KEY_FILE!, join(home, 'master.key'), { recursive: true })
  return {
    ...{ ...server.env, HOME: home, SVC_PORT: '0', SVC_DATA_DIR: join(home, 'data') },
    ...{ SVC_MASTER_KEY_FILE: join(home, 'master.key'), SVC_CONFIG_FILE: join(home, 'config.json') },
  }
}

async function packIn(place: string): Promise<string> {
  const folder = join(place, 'packs', project)
  const packs = (await readdir(folder)).filter((name) => name.includes('.pack'))
  const sizes = await Promise.all(packs.map(async (name) => (await stat(join(folder, name))).size))
  return join(folder, packs[sizes.indexOf(Math.max(...sizes))]!)
}

test('a file that this machine cannot read is no loss of a repository', async () => {
  const place = await copyOf(whole, 'unreadable')
  const pack = await packIn(place)
  await rm(pack)
  // Its read fails with EIO for every user.
  await symlink('/proc/self/mem', pack)
  const says = await refused(['restore', place, '--accept-loss'], await targetFor('unreadable'))
  expect(says).toContain(`The backup folder ${place} cannot be read: EIO`)
})

test('a fresh disk with lost+found is a place for backups, and for a restore', async () => {
  const disk = join(dir, 'disk')
  await mkdir(join(disk, 'lost+found'), { recursive: true })
  await writeFile(join(disk, 'lost+found/a.partial'), 'of the file system')
  expect(await backUp(disk)).toMatchObject({ backups: 1 })
  expect(await readdir(join(disk, 'lost+found'))).toEqual(['a.partial'])
  const env = await targetFor('disk')
  await mkdir(join(env.SVC_DATA_DIR!, 'lost+found'), { recursive: true })
  expect(await document(selfHost(['restore', disk, '--json'], env))).toMatchObject({ repositories: 1 })
})

test('a place inside the data folder is refused', async () => {
  const data = server.env.SVC_DATA_DIR!
  await symlink(data, join(dir, 'link'))
  for (const place of [join(data, 'repositories/bk'), join(data, 'bk.tar'), join(dir, 'link/log/bk')])
    expect(await refused(['backup', place])).toContain(`${place} is inside the data folder ${data}`)
  expect(await readdir(join(data, 'repositories'))).toEqual([`${project}.git`])
})

test('an error that nobody foresaw is shown with its message', async () => {
  expect(await refused(['backup', '/proc/nope'])).toContain('ENOENT')
  const env = { ...(await targetFor('odd')), SVC_MASTER_KEY_FILE: dir }
  expect(await refused(['check'], { ...server.env, SVC_MASTER_KEY_FILE: dir })).toContain('EISDIR')
  expect(await refused(['restore', whole], env)).toContain('EISDIR')
})
