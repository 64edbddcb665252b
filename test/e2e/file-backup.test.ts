/** A running server is backed up to one file, a backup is killed in the middle, and the file is restored elsewhere. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { copyFile, mkdir, mkdtemp, open, readdir, readFile, stat, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { document } from './document.ts'
import { programOf } from '../../packages/server/src/startup/testing-program.ts'
import { gatewayOf, git, makeFirstCommit, program, removeFolder, run, Server, ServerProcess } from './harness.ts'

setDefaultTimeout(300_000)

interface BackedUp {
  backup_id: string
  place: string
  encrypted: boolean
  missing: object[]
  backups: number
}

let server: Server
let dir: string
/** The files of backups are here. */
let shelf: string
let project: string
let clone: string
let merged: string

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'svc-file-backup-'))
  shelf = join(dir, 'shelf')
  clone = join(dir, 'clone')
  await mkdir(shelf)
  server = await Server.start({ SVC_SANDBOX_DRIVER: 'none' })
  project = (await server.json<{ project_id: string }>(['projects', 'create', '--name', 'kept'])).project_id
  await makeFirstCommit(server, project)
  await git(dir, 'clone', '--quiet', gatewayOf(server, { project_id: project }), clone)
  merged = await merge('work')
  await git(clone, 'push', '--quiet', 'origin', 'HEAD:refs/heads/release')
  await server.send('PATCH', `/v1/projects/${project}`, { default_branch: 'release' })
})
afterAll(async () => {
  await server?.end()
  await removeFolder(dir)
})

const selfHost = (args: string[], env: Record<string, string> = server.env) =>
  run([program, 'self-host', ...args], { env, cwd: shelf })

/** A change request of one file, and the commit of its merge. */
async function merge(branch: string): Promise<string> {
  await git(clone, 'checkout', '--quiet', '-b', branch, 'origin/main')
  await writeFile(join(clone, `${branch}.txt`), `the content of ${branch}\n`)
  await git(clone, 'add', '.')
  await git(clone, 'commit', '--quiet', '-m', branch)
  await git(clone, 'push', '--quiet', 'origin', branch)
  const path = `/v1/projects/${project}/change-requests`
  const { cr_id } = await server.send<{ cr_id: string }>('POST', path, { title: branch, head_ref: branch })
  const done = await server.send<{ change_request: { merge_commit_sha: string } }>('POST', `${path}/${cr_id}/merge`)
  return done.change_request.merge_commit_sha
}

async function placeFor(name: string): Promise<Record<string, string>> {
  const place = join(dir, name)
  await mkdir(place)
  await copyFile(server.env.SVC_MASTER_KEY_FILE!, join(place, 'master.key'))
  return {
    ...{ ...server.env, HOME: place, SVC_PORT: '0', SVC_DATA_DIR: join(place, 'data') },
    ...{ SVC_MASTER_KEY_FILE: join(place, 'master.key'), SVC_CONFIG_FILE: join(place, 'config.json') },
  }
}

async function restored(name: string, file: string, ...flags: string[]): Promise<Record<string, string>> {
  const env = await placeFor(name)
  await document(selfHost(['restore', file, '--json', ...flags], env))
  expect(await document(selfHost(['check', '--json'], env))).toMatchObject({ repositories: 1, disagreements: [] })
  expect(await git(join(env.SVC_DATA_DIR!, 'repositories', `${project}.git`), 'show', 'main:work.txt')).toBe(
    'the content of work',
  )
  return env
}

class Restored extends ServerProcess {
  async boot(env: Record<string, string>): Promise<void> {
    if (!(await this.launch([program, 'server'], env))) throw new Error(this.output)
  }
}

async function tar(...args: string[]): Promise<string[]> {
  const { code, stdout, stderr } = await run(['tar', ...args], { cwd: shelf })
  expect([code, stderr]).toEqual([0, ''])
  return stdout.trim().split('\n')
}

test('a backup of a running server is one file, which tar lists with its manifest last', async () => {
  const done = await document<BackedUp>(selfHost(['backup', 'svc.tar', '--json']))
  const path = join(shelf, 'svc.tar')
  expect(done).toMatchObject({ place: path, encrypted: false, missing: [], backups: 1 })
  expect([await readdir(shelf), ((await stat(path)).mode & 0o777).toString(8)]).toEqual([['svc.tar'], '600'])
  const lines = await tar('-tvf', 'svc.tar')
  expect(lines[0]).toMatch(/^-rw------- .* svc-backups\.json$/)
  expect(lines.at(-1)).toEndWith(` backups/${done.backup_id}.json`)
  const listed = await document<{ backups: object[] }>(selfHost(['backups', 'svc.tar', '--json']))
  expect(listed.backups).toMatchObject([{ backup_id: done.backup_id, repositories: 1, missing: 0 }])
  const shown = await selfHost(['backups', 'svc.tar'])
  expect([shown.code, shown.stdout]).toEqual([0, expect.stringContaining(`${done.backup_id} `)])
})

test('a saved key file encrypts a backup by hand, and a place with plain backups stays plain with a warning', async () => {
  const config = join(dir, 'saved/config.json')
  const env = { ...server.env, SVC_CONFIG_FILE: config }
  const [plain, key] = [join(dir, 'plain-backups'), join(dir, 'saved.key')]
  expect(await document(selfHost(['backup', plain, '--json'], env))).toMatchObject({ encrypted: false })
  const saved = await selfHost(
    ['env', 'set', `SVC_BACKUP_DIR=${join(dir, 'scheduled')}`, `SVC_BACKUP_KEY_FILE=${key}`],
    env,
  )
  expect([saved.code, saved.stderr]).toEqual([0, expect.any(String)])
  const byHand = await selfHost(['backup', join(dir, 'sealed-backups')], env)
  expect([byHand.code, byHand.stdout]).toEqual([0, expect.stringMatching(/encrypted:\s+yes/)])
  expect(byHand.stderr).toContain(`${key} opens these backups.`)
  const again = await selfHost(['backup', plain], env)
  expect([again.code, again.stderr]).toEqual([0, expect.stringContaining(`${plain} has plain backups.`)])
})

test('the file is restored into an empty folder, with the merged work and the default branch', async () => {
  const env = await restored('plain', 'svc.tar')
  const copy = new Restored(join(dir, 'plain'))
  try {
    await copy.boot(env)
    copy.token = server.token
    expect(copy.output).toContain('Held         restored from a backup of')
    const { change_requests: found } = await copy.send<{ change_requests: object[] }>(
      'GET',
      `/v1/projects/${project}/change-requests?status=merged`,
    )
    expect(found).toMatchObject([{ merge_commit_sha: merged }])
    const cloned = join(dir, 'of-restored')
    await git(dir, 'clone', '--quiet', gatewayOf(copy, { project_id: project }), cloned)
    expect(await git(cloned, 'symbolic-ref', 'HEAD')).toBe('refs/heads/release')
  } finally {
    await copy.kill('SIGTERM')
  }
})

test('tar unpacks it to a folder of backups, which the next backup continues', async () => {
  await mkdir(join(shelf, 'unpacked'))
  await tar('-xf', 'svc.tar', '-C', 'unpacked')
  const before = (await readdir(join(shelf, 'unpacked/packs', project))).filter((name) => name.endsWith('.pack'))
  expect(await document<BackedUp>(selfHost(['backup', 'unpacked', '--json']))).toMatchObject({ backups: 2 })
  const after = (await readdir(join(shelf, 'unpacked/packs', project))).filter((name) => name.endsWith('.pack'))
  expect(after).toEqual(before)
  await tar('-cf', 'packed-again.tar', '-C', 'unpacked', '.')
  await restored('packed-again', 'packed-again.tar')
})

test('an encrypted file shows no content, and opens with its key file alone', async () => {
  const done = await document<BackedUp>(selfHost(['backup', 'sealed.tar', '--encrypt', 'svc.key', '--json']))
  expect(done).toMatchObject({ encrypted: true, missing: [] })
  const stored = (await tar('-tf', 'sealed.tar')).filter((name) => /^data\/|\.pack/.test(name))
  expect(stored.length).toBeGreaterThan(20)
  await mkdir(join(shelf, 'sealed'))
  await tar('-xf', 'sealed.tar', '-C', 'sealed')
  for (const name of stored)
    expect([name, await readFile(join(shelf, 'sealed', name), 'latin1')]).toEqual([
      ...[name, expect.stringMatching(/^age-encryption\.org\/v1\n/)],
    ])
  const without = await selfHost(['restore', 'sealed.tar'], await placeFor('without-key'))
  expect([without.code, without.stderr]).toEqual([1, expect.stringContaining('Give its key file with --key')])
  await restored('sealed', 'sealed.tar', '--key', 'svc.key')
})

test.each(['backup.after_tables', 'backup.after_pack', 'backup.before_manifest', 'backup.before_rename'])(
  'a backup killed at %s leaves no file under the name, and the next one removes what it left',
  async (point) => {
    const [name, next] = [point.replace(/\W/g, '-'), `${point.replace(/\W/g, '-')}-next`].map((each) => `${each}.tar`)
    const killed = Bun.spawn([...(await programOf('svc')), 'server', '--backup'], {
      env: { ...server.env, SVC_FAILPOINTS: `${point}=kill` },
      stdin: new TextEncoder().encode(JSON.stringify({ place: join(shelf, name!), keyFile: null, keep: null })),
      stdout: 'ignore',
      stderr: 'ignore',
    })
    await killed.exited
    expect([point, killed.signalCode]).toEqual([point, 'SIGKILL'])
    const left = (await readdir(shelf)).filter((each) => each.includes(name!))
    expect(left).toEqual([`.${name}.svc-partial`])
    await document(selfHost(['backup', next!, '--json']))
    expect((await readdir(shelf)).filter((each) => each.startsWith('.'))).toEqual([])
    expect(await document<{ backups: object[] }>(selfHost(['backups', next!, '--json']))).toMatchObject({
      backups: [{ repositories: 1 }],
    })
  },
)

async function refused(args: string[], env?: Record<string, string>): Promise<string> {
  const { code, stdout, stderr } = await selfHost(args, env)
  expect([args, stdout, code]).toEqual([args, '', 1])
  return stderr
}

test('refuses to write to an existing file, to remove older backups, and other names', async () => {
  const before = await readFile(join(shelf, 'svc.tar'))
  await writeFile(join(shelf, 'notes.txt'), 'notes')
  expect(await refused(['backup', 'svc.tar'])).toContain(
    `${join(shelf, 'svc.tar')} exists, and a backup overwrites no file. Choose another name`,
  )
  expect(await refused(['backup', 'other.tar', '--keep', '3', '--encrypt', 'other.key'])).toContain('Leave --keep out')
  expect(await refused(['backup', 'notes.txt'])).toContain(
    `${join(shelf, 'notes.txt')} is not a folder. Backups are in`,
  )
  expect(await refused(['backup', 'out.tar.gz', '--encrypt', 'other.key'])).toContain(
    `A backup in one file has a name that ends in .tar, such as ${join(shelf, 'out.tar')};`,
  )
  expect(await refused(['backup', 'absent/svc.tar'])).toContain(`There is no folder ${join(shelf, 'absent')}.`)
  expect(await refused(['backups', 'absent.tar'])).toContain(`There is no file ${join(shelf, 'absent.tar')}.`)
  const dash = await selfHost(['backup', '-'])
  expect([dash.code, dash.stderr]).toEqual([2, expect.stringContaining('Name a file that ends in .tar')])
  const env = { ...server.env, SVC_BACKUP_DIR: join(shelf, 'daily.tar') }
  expect(await refused(['check'], env)).toContain('SVC_BACKUP_DIR must be a folder or a bucket')
  const zipped = { ...server.env, SVC_BACKUP_DIR: join(shelf, 'daily.zip') }
  expect(await refused(['check'], zipped)).toContain('SVC_BACKUP_DIR must be a folder or a bucket')
  expect(await readFile(join(shelf, 'svc.tar'))).toEqual(before)
  const names = await readdir(shelf)
  expect(
    ['other.tar', 'other.key', 'out.tar.gz', 'absent', 'absent.tar', 'daily.tar', 'daily.zip'].filter((name) =>
      names.includes(name),
    ),
  ).toEqual([])
})

async function flip(file: string, at: number): Promise<void> {
  const handle = await open(file, 'r+')
  const { buffer } = await handle.read(Buffer.alloc(1), 0, 1, at)
  buffer[0]! ^= 1
  await handle.write(buffer, 0, 1, at)
  await handle.close()
}

test('refuses a file that is cut off or damaged before it restores anything', async () => {
  const { size } = await stat(join(shelf, 'svc.tar'))
  const env = await placeFor('damaged')
  const attempt = async (change: (file: string) => Promise<void>) => {
    await copyFile(join(shelf, 'svc.tar'), join(shelf, 'copy.tar'))
    await change(join(shelf, 'copy.tar'))
    const why = await refused(['restore', 'copy.tar'], env)
    const data = await readdir(env.SVC_DATA_DIR!).catch(() => [])
    expect(data).toEqual([])
    return why
  }
  const path = join(shelf, 'copy.tar')
  expect(await attempt((file) => truncate(file, size - 1_024))).toContain(`${path} is cut off: its end is missing.`)
  expect(await attempt((file) => truncate(file, size / 2))).toContain('is cut off: its end is missing. Copy it again')
  expect(await attempt((file) => truncate(file, 100))).toContain(`${path} is not a tar archive`)
  const lines = await tar('-tvRf', 'svc.tar')
  const startOf = (name: RegExp) =>
    Number(/^block (\d+): /.exec(lines.find((line) => name.test(line)) ?? '')?.[1]) * 512
  // As after a copy that reserved the space and did not finish.
  const zeroed = async (file: string) => {
    await truncate(file, startOf(/ backups\//))
    await truncate(file, size)
  }
  expect(await attempt(zeroed)).toContain(`${path} has no backup of svc: it is another archive, or a part of it`)
  expect(await attempt((file) => flip(file, 1_024 + 148))).toContain(`${path} is damaged at byte 1024. Copy it again`)
  const inPack = startOf(/\.pack$/) + 512 + 20
  expect(await attempt((file) => flip(file, inPack))).toMatch(/The file packs\/\S+\.pack of the backup is damaged/)
})
