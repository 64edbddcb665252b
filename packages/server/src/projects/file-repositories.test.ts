import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  chownSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Repository } from '@svc/git'
import { commit, makeRepo, tempDir, type TestRepository } from '@svc/git/testing'
import type { ErrorBody, Project } from '@svc/contract'
import { testProject } from '../change-requests/testing.ts'
import { makeTestApp, type TestApp } from '../testing.ts'

/** Repositories of this machine by path: an owner of the instance adopts their own, and no project adopts another's. */

setDefaultTimeout(120_000)

let app: TestApp
let home: { path: string; remove(): Promise<void> }
let mine: TestRepository
let victim: { project: Project; repo: Repository }
let canary = ''
beforeAll(async () => {
  app = await makeTestApp()
  home = await tempDir('svc-home')
  mine = await makeRepo({ main: { 'README.md': 'mine\n' } })
  victim = await app.managedProject({ 'secret.txt': 'canary\n' })
  canary = snapshot(victim.repo.dir)
}, 120_000)
afterAll(async () => {
  await app.close()
  await home.remove()
  await mine.remove()
})

const run = promisify(execFile)
const create = (repo_url: string, token = app.ownerToken) =>
  app.request<Project & ErrorBody>('POST', '/v1/projects', { token, body: { repo_url } })

test('refuses a work tree with its default branch checked out, with two ways that work', async () => {
  const tree = join(home.path, "a tree's")
  await run('git', ['clone', '--quiet', mine.dir, tree])
  const refused = await create(`file://${tree.replaceAll(' ', '%20')}`)
  expect([refused.status, refused.body.code]).toEqual([400, 'repository_refused'])
  expect(refused.body.error).toBe(
    `The branch "main" is checked out in ${tree}, and git refuses to merge into a checked-out branch.`,
  )
  const [update, bare] = [...refused.body.hint!.matchAll(/`([^`]+)`/g)].map(([, command]) => command!)
  await run('sh', ['-c', bare!])
  expect((await create(`file://${tree}.git`)).status).toBe(201)

  await run('sh', ['-c', update!])
  const made = await create(`file://${tree}`)
  expect(made.status).toBe(201)
  const at = testProject(app, { project: made.body, repo: { dir: join(tree, '.git'), remote: null } })
  const cr = await at.open('work', { 'new.txt': 'new\n' })
  expect((await at.merge(cr.cr_id)).status).toBe(200)
  expect(readFileSync(join(tree, 'new.txt'), 'utf8')).toBe('new\n')

  // When the setting is reverted later, the refusal has the same text.
  await run('git', ['-C', tree, 'config', '--unset', 'receive.denyCurrentBranch'])
  const again = await at.open('more', { 'more.txt': 'more\n' })
  const late = await at.refusedMerge(again.cr_id)
  expect([late.status, late.body.code]).toEqual([409, 'merge_rejected'])
  expect(late.body.reason).toContain('is checked out in the work tree of the repository')
})

const projects = async () => (await app.deps.db.selectFrom('projects').select('project_id').execute()).length

/** Names, modes, contents and times of a folder as one text. */
function snapshot(dir: string): string {
  const lines = readdirSync(dir, { recursive: true, encoding: 'utf8' })
    .sort()
    .map((name) => {
      const info = lstatSync(join(dir, name))
      return [name, info.mode, info.mtimeMs, info.isFile() ? readFileSync(join(dir, name), 'hex') : ''].join(' ')
    })
  return createHash('sha256').update(lines.join('\n')).digest('hex')
}

/** A folder of ours that leads git to the given repository in one way or another. */
function lead(name: string, make: (at: string) => void): string {
  const at = join(home.path, name)
  make(at)
  return at
}

function spellings(): string[] {
  const real = victim.repo.dir
  const { dataDir } = app.deps.config
  const id = victim.project.project_id
  const link = lead('link', (at) => symlinkSync(real, at))
  const linkToData = lead('data', (at) => symlinkSync(dataDir, at))
  const linkToProc = lead('proc', (at) => symlinkSync('/proc/self/root', at))
  const suffixed = lead('suffixed.git', (at) => symlinkSync(real, at)).replace(/\.git$/, '')
  const inner = lead('inner', (at) => (mkdirSync(at), symlinkSync(real, join(at, '.git'))))
  const gitFile = lead('file', (at) => (mkdirSync(at), writeFileSync(join(at, '.git'), `gitdir: ${real}\n`)))
  const common = lead('common', (at) => {
    mkdirSync(at)
    writeFileSync(join(at, 'HEAD'), 'ref: refs/heads/main\n')
    writeFileSync(join(at, 'commondir'), `${real}\n`)
  })
  const parts = lead('parts', (at) => {
    mkdirSync(at)
    writeFileSync(join(at, 'HEAD'), 'ref: refs/heads/main\n')
    for (const part of ['objects', 'refs']) symlinkSync(join(real, part), join(at, part))
  })
  const borrowing = lead('borrowing', (at) => {
    for (const part of ['objects/info', 'refs/heads']) mkdirSync(join(at, part), { recursive: true })
    writeFileSync(join(at, 'HEAD'), 'ref: refs/heads/main\n')
    writeFileSync(join(at, 'objects/info/alternates'), `${join(real, 'objects')}\n`)
  })
  const relative = real
    .split('/')
    .map((part) => encodeURIComponent(part).replaceAll(/[a-f]/g, (c) => `%${c.charCodeAt(0).toString(16)}`))
    .join('/')
  const upper = real.toUpperCase()
  const pid = process.pid
  const paths = [
    ...[
      real,
      `${real}/`,
      `/${real}`,
      `//${real}`,
      real.replaceAll('/', '//'),
      `${real}/.`,
      real.replace(`${id}.git`, id),
    ],
    ...[
      `${real}/../${id}.git`,
      `${dataDir}/./repositories/${id}.git`,
      `${dataDir}/repositories`,
      dataDir,
      `${dataDir}/mirrors`,
    ],
    ...[
      link,
      `${link}/`,
      `${linkToData}/repositories/${id}.git`,
      `${linkToProc}${real}`,
      suffixed,
      inner,
      `${inner}/.git`,
    ],
    ...[gitFile, common, parts, borrowing, upper],
    ...[
      `/proc/self/root${real}`,
      `/proc/${pid}/root${real}`,
      `/proc/thread-self/root${real}`,
      `/proc/self/task/${pid}/root${real}`,
    ],
    ...[
      `/proc/${pid}/root/workspace`,
      `/proc/1/root/workspace`,
      `/proc/${pid}/cwd`,
      '/proc/self/fd/0',
      '/dev/fd/0',
      '/dev/shm',
      '/sys/kernel',
    ],
    ...['/run/svc', '/'],
  ]
  return [
    ...paths,
    ...paths.slice(0, 8).map((path) => `file://${path}`),
    ...[
      `FILE://${real}`,
      `File://${real}`,
      `file://localhost${real}`,
      `file://127.0.0.1${real}`,
      `file://LOCALHOST${real}`,
    ],
    ...[
      `file:${real}`,
      `file:/${real}`,
      `file://${relative}`,
      `file://${real.replaceAll('/', '%2f')}`,
      `file://${real}?x`,
      `file://${real}#x`,
    ],
    ...[`file://${real.replace('/repositories/', '/%2e%2e/repositories/')}`, `file://${real}%00`, `file://${link}%2F`],
    ...[
      '.',
      './',
      '../..',
      '~',
      `~root${real}`,
      `$HOME/x`,
      `localhost:${real}`,
      `git+file://${real}`,
      `ext::cat ${real}`,
    ],
  ]
}

describe('repositories by path', () => {
  test('an owner of the instance uses one, and merges work', async () => {
    for (const repo_url of [mine.dir, `file://${mine.dir}`, lead('mine', (at) => symlinkSync(mine.dir, at))]) {
      const made = await create(repo_url)
      expect([made.status, made.body.repo_url]).toEqual([201, `file://${mine.dir}`])
    }
    const work = join(home.path, 'work')
    await run('git', ['clone', '--quiet', '--', mine.dir, work])
    await run('git', ['-C', work, 'config', 'receive.denyCurrentBranch', 'updateInstead'])
    const made = await create(work)
    expect([made.status, made.body.repo_url, made.body.default_branch]).toEqual([201, `file://${work}`, 'main'])
    const listed = await app.request('GET', `/v1/projects/${made.body.project_id}/branches`)
    expect(listed.status).toBe(200)
  })

  test('refuses other users of the instance', async () => {
    const users = [await app.makeUser('owner', 'own'), await app.makeUser('member'), await app.makeUser('admin')]
    const before = await projects()
    for (const { token } of users)
      for (const repo_url of [`file://${mine.dir}`, mine.dir, `file://${victim.repo.dir}`, 'file:///etc']) {
        const { status, body } = await create(repo_url, token)
        expect([repo_url, status, body.code]).toEqual([repo_url, 403, 'forbidden'])
      }
    expect(await projects()).toBe(before)
  })

  test('refuses a repository of another project in forty spellings, to everyone', async () => {
    const all = spellings()
    expect(new Set(all).size).toBeGreaterThanOrEqual(40)
    const stranger = await app.makeUser('owner', 'own')
    const before = await projects()
    for (const repo_url of all)
      for (const token of [app.ownerToken, stranger.token]) {
        const { status, body } = await create(repo_url, token)
        if (![400, 403].includes(status)) throw new Error(`${repo_url}: ${status} ${JSON.stringify(body)}`)
      }
    expect(await projects()).toBe(before)
    expect(snapshot(victim.repo.dir)).toBe(canary)
  })

  test('neither reads nor writes a repository of another project that a row names', async () => {
    const { project_id } = (await create(mine.dir)).body
    const path = `/v1/projects/${project_id}`
    for (const repo_url of [
      `file://${victim.repo.dir}`,
      `file://${join(home.path, 'link')}`,
      `file://${join(home.path, 'inner')}`,
    ]) {
      await app.deps.db
        .updateTable('projects')
        .set({ repo_url, updated_at: new Date() })
        .where('project_id', '=', project_id)
        .execute()
      for (const [method, at, body] of [
        ['GET', '/branches', undefined],
        ['GET', '/commits', undefined],
        ['POST', '/sessions', {}],
        ['PATCH', '', { default_branch: 'main' }],
        ['PATCH', '', { git_token: 'x' }],
      ] as const) {
        const reply = await app.request<ErrorBody>(method, path + at, { body })
        expect([at, reply.status, reply.body.code]).toEqual([at, 400, 'repository_refused'])
      }
    }
    expect(snapshot(victim.repo.dir)).toBe(canary)
  })

  test('stops using a path that became a link to another repository', async () => {
    const place = join(home.path, 'place')
    const [first, second] = [await makeRepo({ main: { a: '1' } }), await makeRepo({ main: { a: '2' } })]
    renameSync(first.dir, place)
    const { project_id } = (await create(place)).body
    const list = () => app.request<ErrorBody>('GET', `/v1/projects/${project_id}/branches`)
    expect((await list()).status).toBe(200)
    for (const target of [second.dir, victim.repo.dir]) {
      renameSync(place, `${place}-${Math.random()}`)
      symlinkSync(target, place)
      const reply = await list()
      expect([reply.status, reply.body.code]).toEqual([400, 'repository_refused'])
    }
    expect(readlinkSync(place)).toBe(victim.repo.dir)
    await first.remove()
    await second.remove()
  })

  test("does not reach a repository of another account's project that a row names", async () => {
    const stranger = await app.makeUser('owner', 'own')
    const made = await app.request<Project>('POST', '/v1/projects', { token: stranger.token, body: { name: 'theirs' } })
    const { project_id } = made.body
    await app.deps.db
      .updateTable('projects')
      .set({ repo_url: `file://${mine.dir}`, managed: false })
      .where('project_id', '=', project_id)
      .execute()
    const reply = await app.request<ErrorBody>('GET', `/v1/projects/${project_id}/branches`, { token: stranger.token })
    expect([reply.status, reply.body.code]).toEqual([403, 'forbidden'])
  })

  test.skipIf(process.getuid?.() !== 0)(
    'refuses a repository of another user of the machine, or one that such a user could replace',
    async () => {
      const theirs = await makeRepo({ main: { a: '1' } })
      const mineBelow = await makeRepo({ main: { a: '1' } })
      chownSync(theirs.dir, 4242, 4242)
      chownSync(join(mineBelow.dir, '..'), 4242, 4242)
      for (const { dir } of [theirs, mineBelow]) expect([dir, (await create(dir)).status]).toEqual([dir, 400])
      await theirs.remove()
      await mineBelow.remove()
    },
  )
})

test('accepts only repositories below the configured roots', async () => {
  const [inside, outside] = [await makeRepo({ main: { a: '1' } }), await makeRepo({ main: { a: '1' } })]
  const rooted = await makeTestApp({
    configure: { fileRepositories: { roots: [join(inside.dir, '..')] }, allowPrivateGitHosts: false },
  })
  try {
    const sibling = join(inside.dir, '..', 'link.git')
    symlinkSync(outside.dir, sibling)
    const ask = async (repo_url: string) =>
      (await rooted.request('POST', '/v1/projects', { body: { repo_url } })).status
    expect(await Promise.all([inside.dir, outside.dir, sibling, `${inside.dir}-x`].map(ask))).toEqual([
      201, 400, 400, 400,
    ])
  } finally {
    await rooted.close()
    await inside.remove()
    await outside.remove()
  }
})

test('only owners of the instance can use addresses of this machine, except the service itself', async () => {
  const { project, repo, host } = await app.externalProject()
  const [stranger, member] = [await app.makeUser('owner', 'own'), await app.makeUser('member')]
  for (const { token } of [stranger, member])
    for (const repo_url of [
      host.url,
      host.url.replace('127.0.0.1', 'localhost'),
      host.url.replace('127.0.0.1', '[::1]'),
      'ssh://git@127.0.0.1/x',
      'http://10.0.0.1/x',
      'https://192.168.1.1/x',
    ]) {
      const { status, body } = await create(repo_url, token)
      expect([repo_url, status, body.code]).toEqual([repo_url, 403, 'forbidden'])
    }
  // Members of the account can use what an owner set up.
  const branches = await app.request('GET', `/v1/projects/${project.project_id}/branches`, { token: member.token })
  expect(branches.status).toBe(200)
  await commit(repo, 'main', { 'b.txt': '1\n' })
  const own = new URL(victim.project.git_url)
  for (const name of [
    '127.0.0.1',
    'localhost',
    '127.1',
    '0.0.0.0',
    '[::1]',
    '[::ffff:127.0.0.1]',
    '2130706433',
    'x.localhost',
    'LOCALHOST.',
  ]) {
    const reply = await app.request<ErrorBody>('POST', '/v1/projects', {
      body: { repo_url: `http://${name}:${own.port}${own.pathname}`, git_token: app.ownerToken },
    })
    expect([name, reply.status, reply.body.code]).toEqual([name, 400, 'repository_refused'])
    expect(reply.body.error).toContain('the service itself')
  }
  expect(snapshot(victim.repo.dir)).toBe(canary)
})

test('only an owner of the instance can set an API at a private address', async () => {
  const { project } = await app.externalProject()
  const admin = await app.makeUser('admin')
  const settings = { git_host: 'github', git_api_url: 'http://127.0.0.1:9/api' }
  const edit = (token: string) =>
    app.request<ErrorBody>('PATCH', `/v1/projects/${project.project_id}`, { token, body: { settings, git_token: 'x' } })
  const refused = await edit(admin.token)
  expect([refused.status, refused.body.code]).toEqual([400, 'repository_refused'])
  expect((await edit(app.ownerToken)).body.error ?? '').not.toContain('rivate')
})
