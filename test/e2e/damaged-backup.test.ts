/** Backups that a disk or a copy has damaged, and places that are no good ones: the operator reads what is wrong. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { randomBytes } from 'node:crypto'
import {
  cp,
  mkdir,
  mkdtemp,
  open,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  symlink,
  truncate,
  writeFile,
} from 'node:fs/promises'
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
let backupId: string

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
  backupId = (await backUp(whole)).backup_id
})
afterAll(async () => {
  await server?.end()
  await removeFolder(dir)
})

interface BackedUp {
  backup_id: string
  backups: number
  damaged: { backup_id: string; says: string }[]
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

const manifestOf = (place: string) => join(place, 'backups', `${backupId}.json`)

async function edit(file: string, change: (text: string) => string): Promise<void> {
  const before = await readFile(file, 'utf8')
  const after = change(before)
  expect(after === before).toBe(false)
  await writeFile(file, after)
}

async function flipAtThird(file: string): Promise<void> {
  const handle = await open(file, 'r+')
  const at = Math.floor((await handle.stat()).size / 3)
  const { buffer } = await handle.read(Buffer.alloc(1), 0, 1, at)
  buffer[0]! ^= 1
  await handle.write(buffer, 0, 1, at)
  await handle.close()
}

async function packIn(place: string): Promise<string> {
  const folder = join(place, 'packs', project)
  const packs = (await readdir(folder)).filter((name) => name.includes('.pack'))
  const sizes = await Promise.all(packs.map(async (name) => (await stat(join(folder, name))).size))
  return join(folder, packs[sizes.indexOf(Math.max(...sizes))]!)
}

test('a manifest with a changed character is refused, and one without a checksum, of an earlier version, is not', async () => {
  const place = await copyOf(whole, 'changed')
  const [, ...rest] = project
  await edit(manifestOf(place), (text) =>
    text.replace(`"project_id": "${project}"`, `"project_id": "g${rest.join('')}"`),
  )
  const env = await targetFor('changed')
  expect(await refused(['restore', place], env)).toContain(
    `${manifestOf(place)} is damaged: it differs from its checksum.`,
  )
  const withoutChecksum = (text: string) => text.replace(/,\s*"sha256": "[0-9a-f]{64}"\s*}\s*$/, '}')
  await edit(manifestOf(place), withoutChecksum)
  expect(await refused(['restore', place], env)).toContain('The refs and the manifest of the backup')
  const earlier = await copyOf(whole, 'earlier')
  await edit(manifestOf(earlier), withoutChecksum)
  const low = /("name": "root_keys_position_seq",\s*"last": "1",\s*"isCalled": )true/
  await edit(manifestOf(earlier), (text) => text.replace(low, '$1false'))
  await rm(env.SVC_DATA_DIR!, { recursive: true, force: true })
  expect(await document(selfHost(['restore', earlier, '--json'], env))).toMatchObject({ repositories: 1 })
  const checked = await selfHost(['check'], env)
  expect([checked.code, checked.stdout]).toEqual([
    1,
    expect.stringMatching(/The sequence root_keys_position_seq is at 1, and a row has 1/),
  ])
})

test('a damaged file is named at the restore, wherever its damage is', async () => {
  const sealed = join(dir, 'sealed')
  await backUp(sealed, '--encrypt', 'sealed.key')
  for (const [name, from, ...flags] of [
    ['plain', whole],
    ['encrypted', sealed, '--key', 'sealed.key'],
  ] as [string, string, ...string[]][]) {
    const env = await targetFor(name)
    const table = await copyOf(from, `${name}-table`)
    const [id] = await readdir(join(table, 'data'))
    const file = `data/${id}/tables/secrets.gz${name === 'plain' ? '' : '.age'}`
    await flipAtThird(join(table, file))
    expect(await refused(['restore', table, ...flags], env)).toContain(
      `The file ${file} of the backup is damaged: it differs from its checksum.`,
    )
    const refs = await copyOf(from, `${name}-refs`)
    const refsFile = file.replace('tables/secrets', 'refs')
    await flipAtThird(join(refs, refsFile))
    expect(await refused(['restore', refs, ...flags], env)).toContain(`The file ${refsFile} of the backup is damaged`)
    const packed = await copyOf(from, `${name}-pack`)
    const pack = await packIn(packed)
    await flipAtThird(pack)
    const says = `The file ${pack.slice(packed.length + 1)} of the backup is damaged: it differs from its checksum.`
    expect(await refused(['restore', packed, ...flags], env)).toContain(says)
    const partly = await document(selfHost(['restore', packed, ...flags, '--accept-loss', '--json'], env))
    expect(partly).toMatchObject({ repositories: 0, missing: [{ reason: expect.stringContaining(says) }] })
  }
})

test('a file that this machine cannot read is no loss of a repository', async () => {
  const place = await copyOf(whole, 'unreadable')
  const pack = await packIn(place)
  await rm(pack)
  // Its read fails with EIO for every user.
  await symlink('/proc/self/mem', pack)
  const says = await refused(['restore', place, '--accept-loss'], await targetFor('unreadable'))
  expect(says).toContain(`The backup folder ${place} cannot be read: EIO`)
})

test('a damaged manifest fails no later backup: the backup and the list name it', async () => {
  const place = await copyOf(whole, 'cut')
  await truncate(manifestOf(place), 5_000)
  const damaged = [{ backup_id: backupId, says: expect.stringContaining('is not the manifest of a backup') }]
  const made = await backUp(place)
  expect(made).toMatchObject({ backups: 1, damaged })
  expect(await readdir(join(place, 'data'))).toContain(backupId)
  const shown = await selfHost(['backups', place])
  expect([shown.code, shown.stdout]).toEqual([1, expect.stringContaining(`${made.backup_id} `)])
  expect(shown.stdout).toContain(`${backupId}: ${manifestOf(place)} is not the manifest of a backup`)
  const listed = await selfHost(['backups', place, '--json'])
  expect(listed.code).toBe(1)
  expect(JSON.parse(listed.stdout)).toMatchObject({ backups: [{ backup_id: made.backup_id }], damaged })
  const again = await selfHost(['backup', place])
  expect([again.code, again.stderr]).toEqual([0, expect.stringContaining(`${backupId} is damaged`)])
})

test('--verify reads every file and names the damaged ones, without a key', async () => {
  const place = await copyOf(whole, 'rotten')
  const sound = await selfHost(['backups', place, '--verify'])
  expect([sound.code, sound.stdout]).toEqual([0, expect.stringContaining('Every file is as it was written')])
  const pack = await packIn(place)
  await flipAtThird(pack)
  expect((await selfHost(['backups', place])).code).toBe(0)
  const found = await selfHost(['backups', place, '--verify'])
  expect([found.code, found.stdout]).toEqual([
    1,
    expect.stringContaining(`The file ${pack.slice(place.length + 1)} of`),
  ])
  expect(found.stderr).toContain(`1 backup in ${place} cannot be restored as a whole`)
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

test('a refused restore of an incomplete backup names the newest complete one, which its command restores', async () => {
  const place = await copyOf(whole, 'incomplete')
  const repository = join(server.env.SVC_DATA_DIR!, 'repositories', `${project}.git`)
  await rename(repository, `${repository}.away`)
  try {
    expect((await selfHost(['backup', place])).code).toBe(1)
  } finally {
    await rename(`${repository}.away`, repository)
  }
  const env = await targetFor('incomplete')
  const command = `svc self-host restore ${place} --backup ${backupId}`
  const { code, stderr } = await selfHost(['restore', place], env)
  expect([code, stderr]).toEqual([1, expect.stringContaining(command)])
  expect((await selfHost(['restore', place, '--backup', backupId], env)).code).toBe(0)
})

test('a backup that is removed while it is verified is not called damaged', async () => {
  const place = await copyOf(whole, 'removed-meanwhile')
  const newer = (await backUp(place, '--claim')).backup_id
  // It is the first that is read, and holds the reader.
  const first = join(place, 'data', newer, 'refs.gz')
  const content = await readFile(first)
  await rm(first)
  expect(await Bun.spawn(['mkfifo', first]).exited).toBe(0)
  const verifying = selfHost(['backups', place, '--verify'])
  const pipe = await open(first, 'w')
  expect((await selfHost(['backups', place, '--remove', backupId])).code).toBe(0)
  await pipe.write(content)
  await pipe.close()
  const { code, stdout, stderr } = await verifying
  expect([code, stdout]).toEqual([0, expect.stringContaining('Every file is as it was written')])
  expect(`${stdout}${stderr}`).toContain(`Removed while it was read: ${backupId}`)
  expect(stdout).not.toContain('✗')
})
