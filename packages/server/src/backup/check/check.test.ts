/** What `svc self-host check` finds in repositories that were damaged behind the server's back. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { chmod, cp, mkdir, open, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Project } from '@svc/contract'
import type { Disagreement } from '@svc/contract/daemon/operator-reports'
import { commit } from '@svc/git/testing'
import { gitText, testProject, type TestProject } from '../../change-requests/testing.ts'
import { mirrorDir } from '../../projects/repository.ts'
import { makeTestApp, type TestApp } from '../../testing.ts'
import { check } from './check.ts'

setDefaultTimeout(120_000)

let app: TestApp
beforeAll(async () => {
  app = await makeTestApp()
})
afterAll(() => app.close())

const makeProject = async () => testProject(app, await app.managedProject({ 'a.txt': 'a\n' }))

/** The check finds these in this project, as kind and text. */
async function found({ project }: Pick<TestProject, 'project'>): Promise<string[][]> {
  const { config, serverName } = app.deps
  const { disagreements } = await check({ ...config, serverName }, () => {})
  const mine = ({ project_id }: Disagreement) => project_id === project.project_id
  return disagreements.filter(mine).map(({ kind, says }) => [kind, says])
}

const broken = ({ project }: TestProject, how: string) => [
  'broken_repository',
  expect.stringMatching(new RegExp(`^${project.slug}: the repository /.*${project.project_id}.git is damaged: ${how}`)),
]

async function flip(path: string, from: number): Promise<void> {
  const bytes = await readFile(path)
  for (const at of [from, from + 1]) bytes[at]! ^= 0xff
  await chmod(path, 0o600)
  await writeFile(path, bytes)
}

const as = ['-c', 'user.name=a', '-c', 'user.email=a@example.com']

const random = () => Array.from(crypto.getRandomValues(new Uint8Array(2000)), (byte) => byte.toString(16)).join('\n')

test('finds damaged content in packs, their indexes and loose objects', async () => {
  const at = await makeProject()
  await commit(at.repo, 'main', { 'large.txt': random() })
  const objects = join(at.repo.dir, 'objects')
  const blob = await gitText(at.repo, 'rev-parse', 'main:large.txt')
  expect(await found(at)).toEqual([])
  const loose = join(objects, blob.slice(0, 2), blob.slice(2))
  const intact = await readFile(loose)
  await flip(loose, 1000)
  expect(await found(at)).toEqual([broken(at, `its files are damaged: ${loose}: `)])
  await writeFile(loose, intact.subarray(0, 1000))
  expect(await found(at)).toEqual([broken(at, `its files are damaged: ${loose}: `)])
  await writeFile(loose, intact)

  await gitText(at.repo, 'repack', '-a', '-d', '--quiet')
  await gitText(at.repo, 'commit-graph', 'write', '--reachable')
  expect(await found(at)).toEqual([])
  for (const ending of ['.pack', '.idx']) {
    const name = (await readdir(join(objects, 'pack'))).find((each) => each.endsWith(ending))!
    const path = join(objects, 'pack', name)
    const whole = await readFile(path)
    // In an index, the checksums of objects follow 1032 bytes and the ids. git does not read them here.
    const objectsIn = (whole.length - 1072) / 28
    await flip(path, ending === '.pack' ? Math.floor(whole.length / 2) : 1032 + 20 * objectsIn)
    expect(await found(at)).toEqual([broken(at, `its files are damaged: ${path}: it differs from its checksum`)])
    await writeFile(path, whole)
  }
  // git does without it.
  await flip(join(objects, 'info/commit-graph'), 40)
  expect(await found(at)).toEqual([])
})

test('names a repository that git cannot read, and checks the others', async () => {
  const at = await makeProject()
  const other = await makeProject()
  await rm(join(other.repo.dir, 'objects'), { recursive: true })
  for (const [file, content, how] of [
    ['HEAD', '', 'git cannot read it: .*not a git repository'],
    ['HEAD', 'nonsense\n', 'git cannot read it: .*not a git repository'],
    ['config', null, 'git cannot read it: .*no such file'],
    ['config', '[core\n', 'git cannot read it: .*bad config'],
  ] as const) {
    const path = join(at.repo.dir, file)
    const whole = await readFile(path)
    if (content === null) await rm(path)
    else await writeFile(path, content)
    expect(await found(at)).toEqual([broken(at, how)])
    expect(await found(other)).toEqual([broken(other, 'git cannot read it: ')])
    await writeFile(path, whole)
  }
  expect(await found(at)).toEqual([])
})

test('finds lost branches and commits that change requests need', async () => {
  const at = await makeProject()
  await gitText(at.repo, 'branch', 'release', 'main')
  const landed = await at.open('landed', { 'b.txt': 'b\n' }, { base_ref: 'release' })
  expect((await at.merge(landed.cr_id)).status).toBe(200)
  await commit(at.repo, 'main', { 'c.txt': 'c\n' })
  const open = await at.open('open', { 'd.txt': 'd\n' })
  const closed = await at.open('closed', { 'e.txt': 'e\n' })
  await app.request('POST', at.path(closed.cr_id, 'close'))
  const remove = (branch: string) => gitText(at.repo, 'update-ref', '-d', `refs/heads/${branch}`)
  const tip = { main: await at.tip('main'), release: await at.tip('release'), open: await at.tip('open') }
  const restore = (branch: keyof typeof tip) => gitText(at.repo, 'update-ref', `refs/heads/${branch}`, tip[branch])
  const missing = (branch: string, why: string) => [
    'missing_branch',
    `${at.project.slug}: the branch ${branch} is missing. ${why}`,
  ]

  // Deleted on purpose, after their change requests ended.
  for (const branch of ['landed', 'closed']) await remove(branch)
  expect(await found(at)).toEqual([])
  await remove('release')
  expect(await found(at)).toEqual([])
  await restore('release')
  await remove('main')
  const [main] = [missing('main', 'It is the default branch, last seen at ' + tip.main + '. The open #2 needs it.')]
  expect(await found(at)).toEqual([main!])
  for (const branch of ['release', 'open']) await remove(branch)
  expect((await found(at)).map(([, says]) => says)).toEqual([main![1]!, missing('open', 'The open #2 needs it.')[1]!])
  await restore('main')
  await restore('release')
  await gitText(at.repo, 'gc', '--prune=now', '--quiet')
  await asAfterRestart(at)
  const lost = [
    'lost_head',
    `${at.project.slug}: change request #2 is open, and its repository does not have its head commit ${tip.open}.`,
  ]
  expect(await found(at)).toEqual([missing('open', 'The open #2 needs it.'), lost])
  const answers = async () => {
    const patch = { headers: { accept: 'text/x-diff' } }
    const replies = [
      await app.request('GET', at.path(open.cr_id, 'diff')),
      await app.request('GET', at.path(open.cr_id, 'diff'), patch),
      await at.refusedMerge(open.cr_id),
    ]
    return replies.map(({ body }) => body.code)
  }
  expect(await answers()).toEqual(['ref_not_found', 'ref_not_found', 'ref_missing'])
  // As after a power cut that kept the ref alone.
  await writeFile(join(at.repo.dir, 'refs/heads/open'), `${tip.open}\n`)
  expect(await found(at)).toEqual([
    broken(at, `git fsck finds it incomplete: .*refs/heads/open: invalid sha1 pointer ${tip.open}`),
    lost,
  ])
  expect(await answers()).toEqual(['ref_not_found', 'ref_not_found', 'ref_not_found'])
})

test('misses no branch of an empty project, nor of one whose host has them', async () => {
  const { body: empty } = await app.request<Project>('POST', '/v1/projects', { body: { name: 'empty' } })
  expect(await found({ project: empty })).toEqual([])
  const hosted = testProject(app, await app.externalProject({ 'a.txt': 'a\n' }))
  const cr = await hosted.open('work', { 'b.txt': 'b\n' })
  expect((await app.request('GET', hosted.path(cr.cr_id, 'diff'))).status).toBe(200)
  const mirror = join(app.deps.config.dataDir, 'mirrors', `${hosted.project.project_id}.git`)
  for (const folder of ['refs/heads', 'objects']) {
    await rm(join(mirror, folder), { recursive: true })
    await mkdir(join(mirror, folder))
  }
  await rm(join(mirror, 'packed-refs'), { force: true })
  expect(await found(hosted)).toEqual([])
})

test('a damaged mirror is fetched again from its host, once it is moved away as the check says', async () => {
  const hosted = testProject(app, await app.externalProject({ 'a.txt': random() }))
  const cr = await hosted.open('work', { 'b.txt': 'b\n' })
  const diff = async () => (await app.request('GET', hosted.path(cr.cr_id, 'diff'))).status
  expect(await diff()).toBe(200)
  const dir = mirrorDir(app.deps, hosted.project.project_id)
  // Unfinished work is in the mirror alone.
  const tree = await gitText({ dir }, 'mktree')
  const work = await gitText({ dir }, ...as, 'commit-tree', '-m', 'work', '-p', 'main', tree)
  const kept = 'refs/svc/wip/a-session'
  await gitText({ dir }, 'update-ref', kept, work)
  expect(await found(hosted)).toEqual([])
  const pack = (await readdir(join(dir, 'objects/pack'))).find((name) => name.endsWith('.pack'))!
  await flip(join(dir, 'objects/pack', pack), 200)
  const [finding] = await found(hosted)
  const command = `mv ${dir} ${dir}.damaged`
  const says = `^${hosted.project.slug}: the mirror ${dir} is damaged: git fsck .* Its host has the commits\\. As .*: ${command}$`
  expect(finding).toEqual(['broken_mirror', expect.stringMatching(new RegExp(says))])
  expect(await Bun.spawn(['sh', '-c', command]).exited).toBe(0)
  expect(await diff()).toBe(200)
  expect(await found(hosted)).toEqual([])
  // As docs/operate/backup.md says.
  await writeFile(join(`${dir}.damaged`, 'objects/info/alternates'), `${dir}/objects\n`)
  await gitText({ dir }, 'fetch', '--quiet', '--no-tags', `${dir}.damaged`, '+refs/svc/*:refs/svc/*')
  expect(await gitText({ dir }, 'rev-parse', kept)).toBe(work)
  expect(await found(hosted)).toEqual([])
})

test('calls no repository incomplete because a commit lands while git looks', async () => {
  const at = await makeProject()
  // git reads this ref after the objects, and before the branches.
  const folder = join(at.repo.dir, 'refs/before-heads')
  await mkdir(folder)
  expect(await Bun.spawn(['mkfifo', join(folder, 'a')]).exited).toBe(0)
  const report = found(at)
  const ref = await open(join(folder, 'a'), 'w')
  await rm(folder, { recursive: true })
  await ref.write(`${await at.tip('main')}\n`)
  await commit(at.repo, 'main', { 'b.txt': 'b\n' })
  await ref.close()
  expect(await report).toEqual([])
})

/** The server remembers which objects a folder has, as long as it runs. */
async function asAfterRestart({ repo: { dir } }: TestProject): Promise<void> {
  await cp(dir, `${dir}-copy`, { recursive: true })
  await rm(dir, { recursive: true })
  await rename(`${dir}-copy`, dir)
}
