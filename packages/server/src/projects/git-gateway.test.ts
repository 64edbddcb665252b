/** A real git client against the real listener. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { randomBytes } from 'node:crypto'
import { mkdtemp } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import type { Project } from '@svc/contract'
import { commit } from '@svc/git/testing'
import { gitText } from '../change-requests/testing.ts'
import { makeSessionApp, type RunningSession, type SessionApp } from '../sessions/testing.ts'
import { managedDir } from './repository.ts'
import { commitIn, git, type GitDoor, openGitDoor } from './testing-git-door.ts'

let app: SessionApp
let door: GitDoor
beforeAll(async () => {
  app = await makeSessionApp()
  door = await openGitDoor(app)
}, 120_000)
afterAll(async () => {
  await door.close()
  await app.close()
})

const urlOf: GitDoor['urlOf'] = (...args) => door.urlOf(...args)
const workTree: GitDoor['workTree'] = (...args) => door.workTree(...args)

const tip = async (branch: string, project = app.project): Promise<string | null> =>
  gitText({ dir: managedDir(app.deps, project.project_id) }, 'rev-parse', '--verify', `refs/heads/${branch}`).catch(
    () => null,
  )
const refs = () => gitText(app.repo, 'for-each-ref', '--format=%(refname) %(objectname)')

describe('git for a user', () => {
  test('clones, and pushes a branch', async () => {
    const dir = await workTree(app.ownerToken)
    expect(await Bun.file(join(dir, 'README.md')).text()).toBe('hello\n')
    const pushed = await git(dir, 'push', 'origin', 'HEAD:refs/heads/users-work')
    expect(pushed).toMatchObject({ ok: true })
    expect(await tip('users-work')).toBe((await git(dir, 'rev-parse', 'HEAD')).said.trim())
  })

  test('pushes from a shallow clone', async () => {
    const dir = await mkdtemp(join(door.home, 'shallow-'))
    const { project, repo } = await app.managedProject()
    const parent = await commit(repo, 'main', { 'b.txt': 'b\n' })
    expect(await git(door.home, 'clone', '--depth=1', urlOf(project, app.ownerToken), dir)).toMatchObject({ ok: true })
    const sha = await commitIn(dir)
    expect(await git(dir, 'push', 'origin', 'HEAD:refs/heads/shallow')).toMatchObject({ ok: true })
    expect(await gitText(repo, 'rev-parse', 'shallow', 'shallow^')).toBe(`${sha}\n${parent}`)
  })

  test('a push requests a poll of the repository', async () => {
    const { project_id } = app.project
    const looks = () => app.deps.db.selectFrom('project_looks').where('project_id', '=', project_id)
    const dir = await workTree(app.ownerToken)
    await app.deps.db
      .updateTable('project_looks')
      .set({ looked_at: new Date(), wanted_at: new Date(0) })
      .execute()
    expect(await git(dir, 'push', 'origin', 'HEAD:refs/heads/polled')).toMatchObject({ ok: true })
    const { looked_at, wanted_at } = await looks().selectAll().executeTakeFirstOrThrow()
    expect(Date.parse(wanted_at)).toBeGreaterThanOrEqual(Date.parse(looked_at))
  })

  test('a large clone is read slowly without buffering in the server', async () => {
    const { project, repo } = await app.managedProject()
    const bytes = 64 * 1024 * 1024
    // Random bytes do not compress, and trying slows a busy machine down.
    await gitText(repo, 'config', 'core.compression', '0')
    const head = await commit(repo, 'main', { 'large.bin': randomBytes(bytes) })
    const lines = [`command=fetch`, 'object-format=sha1']
    const pkt = (text: string) => `${(text.length + 4).toString(16).padStart(4, '0')}${text}`
    const body = `${lines.map((line) => pkt(line)).join('')}0001${pkt('ofs-delta')}${pkt(`want ${head}\n`)}${pkt('done\n')}0000`
    const socket = connect(door.port, '127.0.0.1')
    const authorization = btoa(`x-access-token:${app.ownerToken}`)
    let read = 0
    const began = Promise.withResolvers<void>()
    socket.on('data', (chunk) => {
      read += chunk.length
      if (read < 1024 * 1024 || socket.isPaused()) return
      socket.pause()
      began.resolve()
    })
    const before = process.memoryUsage().rss
    socket.write(
      [
        `POST /v1/projects/${project.project_id}/git/git-upload-pack HTTP/1.1`,
        `Host: 127.0.0.1:${door.port}`,
        ...[`Authorization: Basic ${authorization}`, 'Git-Protocol: version=2', 'Connection: close'],
        ...['Content-Type: application/x-git-upload-pack-request', `Content-Length: ${body.length}`, '', body],
      ].join('\r\n'),
    )
    await began.promise
    // Long enough for all of it if nothing held it back.
    for (let n = 0; n < 50; n++) await gitText(repo, 'rev-parse', 'main')
    expect(read).toBeLessThan(8 * 1024 * 1024)
    expect(process.memoryUsage().rss - before).toBeLessThan(48 * 1024 * 1024)
    const ended = new Promise((resolve) => socket.once('close', resolve))
    socket.removeAllListeners('data')
    socket.on('data', (chunk) => (read += chunk.length))
    socket.resume()
    await ended
    expect(read).toBeGreaterThan(bytes)
  }, 180_000)

  test.each([[[]], [['--force']], [['--atomic']]] as string[][][])(
    'refuses a push to the default branch (%j) and says how work gets there',
    async (flags) => {
      const dir = await workTree(app.ownerToken)
      const before = await refs()
      const { ok, said } = await git(dir, 'push', ...flags, 'origin', 'HEAD:refs/heads/main')
      expect(ok).toBeFalse()
      expect(said).toContain('svc cr open')
      expect(await refs()).toBe(before)
    },
  )

  test('refuses the default branch among other refs, and its deletion', async () => {
    const dir = await workTree(app.ownerToken)
    const before = await refs()
    expect((await git(dir, 'push', 'origin', 'HEAD:refs/heads/beside', 'HEAD:refs/heads/main')).ok).toBeFalse()
    expect((await git(dir, 'push', 'origin', ':refs/heads/main')).ok).toBeFalse()
    expect((await git(dir, 'push', '--mirror', 'origin')).ok).toBeFalse()
    expect(await refs()).toBe(before)
  })

  test('accepts the first push into an empty repository as the last one to its default branch', async () => {
    const { body: project } = await app.request<Project>('POST', '/v1/projects', { body: { name: 'empty' } })
    const dir = await mkdtemp(join(door.home, 'empty-'))
    await git(dir, 'init', '-b', 'main')
    const first = await commitIn(dir)
    await git(dir, 'remote', 'add', 'origin', urlOf(project, app.ownerToken))
    expect(await git(dir, 'push', 'origin', 'HEAD:refs/heads/main')).toMatchObject({ ok: true })
    expect(await tip('main', project)).toBe(first)
    await commitIn(dir)
    expect((await git(dir, 'push', 'origin', 'HEAD:refs/heads/main')).ok).toBeFalse()
    expect(await tip('main', project)).toBe(first)
  })

  const checkedOut = async (project: Project): Promise<string> =>
    (await git(await workTree(app.ownerToken, { project }), 'symbolic-ref', 'HEAD')).said.trim()
  const setDefault = (project: Project, default_branch: string) =>
    app.request<Project>('PATCH', `/v1/projects/${project.project_id}`, { body: { default_branch } })

  test('a clone checks out the default branch after it changed, and the earlier one can be deleted', async () => {
    const { project, repo } = await app.managedProject()
    const head = () => gitText(repo, 'symbolic-ref', 'HEAD')
    await commit(repo, 'next', { 'next.txt': 'next\n' })
    expect(await checkedOut(project)).toBe('refs/heads/main')
    expect((await setDefault(project, 'next')).status).toBe(200)
    expect(await head()).toBe('refs/heads/next')
    expect(await checkedOut(project)).toBe('refs/heads/next')
    // As an earlier version left it, or a backup.
    await gitText(repo, 'symbolic-ref', 'HEAD', 'refs/heads/main')
    const dir = await workTree(app.ownerToken, { project })
    expect(await Bun.file(join(dir, 'next.txt')).text()).toBe('next\n')
    await gitText(repo, 'symbolic-ref', 'HEAD', 'refs/heads/main')
    expect((await git(dir, 'push', 'origin', '--delete', 'next')).said).toContain('merged change requests only')
    expect(await git(dir, 'push', 'origin', '--delete', 'main')).toMatchObject({ ok: true })
    expect([await head(), await tip('main', project)]).toEqual(['refs/heads/next', null])
  })

  test('an external project is cloned with its own default branch, or that of its host', async () => {
    const { project, repo } = await app.externalProject()
    await commit(repo, 'next', { 'next.txt': 'next\n' })
    expect(await checkedOut(project)).toBe('refs/heads/main')
    expect((await setDefault(project, 'next')).status).toBe(200)
    expect(await checkedOut(project)).toBe('refs/heads/next')
    await gitText(repo, 'update-ref', '-d', 'refs/heads/next')
    expect(await checkedOut(project)).toBe('refs/heads/main')
  })

  test('an empty repository takes its first push to the default branch that was set last', async () => {
    const { body: project } = await app.request<Project>('POST', '/v1/projects', { body: { name: 'empty' } })
    expect((await setDefault(project, 'a..b')).status).toBe(400)
    expect((await setDefault(project, 'trunk')).body.default_branch).toBe('trunk')
    expect(await checkedOut(project)).toBe('refs/heads/trunk')
    const dir = await workTree(app.ownerToken, { project })
    expect(await git(dir, 'push', 'origin', 'HEAD')).toMatchObject({ ok: true })
    expect(await tip('trunk', project)).toBe((await git(dir, 'rev-parse', 'HEAD')).said.trim())
    expect((await setDefault(project, 'nope')).body).toMatchObject({ code: 'ref_not_found' })
  })

  test('shows no refs of the service and accepts none', async () => {
    const main = await tip('main')
    await gitText(app.repo, 'update-ref', 'refs/svc/cr/1/head', main!)
    const dir = await workTree(app.ownerToken)
    expect((await git(dir, 'ls-remote', 'origin')).said).not.toContain('refs/svc')
    expect((await git(dir, '-c', 'protocol.version=0', 'ls-remote', 'origin')).said).not.toContain('refs/svc')
    expect((await git(dir, 'fetch', 'origin', 'refs/svc/cr/1/head')).ok).toBeFalse()
    const before = await refs()
    for (const ref of [
      'refs/svc/cr/1/head',
      'refs/svc/x',
      'refs/replace/x',
      'refs/pull/1/head',
      'refs/notes/x',
      'refs/x/y',
    ])
      expect([ref, (await git(dir, 'push', '--force', 'origin', `HEAD:${ref}`)).ok]).toEqual([ref, false])
    expect((await git(dir, 'push', 'origin', ':refs/svc/cr/1/head')).ok).toBeFalse()
    expect(await refs()).toBe(before)
    await gitText(app.repo, 'update-ref', '-d', 'refs/svc/cr/1/head')
  })

  test('a viewer can read but not write', async () => {
    const { token } = await app.makeUser('viewer')
    const dir = await workTree(token)
    expect((await git(dir, 'push', 'origin', 'HEAD:refs/heads/viewers')).ok).toBeFalse()
    expect(await tip('viewers')).toBeNull()
  })

  test.each([
    ['a password that is no token', () => urlOf(app.project, 'secret', app.ownerToken)],
    ['a user name that is no token, and no password', () => urlOf(app.project, '', 'owner')],
    ['a token with a wrong checksum', () => urlOf(app.project, `${app.ownerToken.slice(0, -1)}!`)],
    ['no credential', () => urlOf(app.project, '').replace('x-access-token:@', '')],
  ])('refuses a credential with %s', async (_, url) => {
    const { ok, said } = await git(door.home, 'ls-remote', url())
    expect(ok).toBeFalse()
    expect(said).not.toContain('refs/heads')
  })

  test.each([
    ['any user name', () => urlOf(app.project, app.ownerToken, 'owner')],
    ['an empty user name', () => urlOf(app.project, app.ownerToken, '')],
    ['the token as user name, and no password', () => urlOf(app.project, '', app.ownerToken)],
    ['the token as user name, and x-oauth-basic', () => urlOf(app.project, 'x-oauth-basic', app.ownerToken)],
  ])('accepts a credential with %s as the owner of the token', async (form, url) => {
    const dir = await workTree(app.ownerToken)
    const branch = `by-${form.replaceAll(/\W+/g, '-')}`
    expect(await git(dir, 'push', url(), `HEAD:refs/heads/${branch}`)).toMatchObject({ ok: true })
    const { ok, said } = await git(door.home, 'ls-remote', url(), branch)
    expect([ok, said.split('\t')[0]]).toEqual([true, (await tip(branch)) ?? ''])
  })

  test('refuses a token by Bearer, or beside another password', async () => {
    const path = `/v1/projects/${app.project.project_id}/git/info/refs?service=git-upload-pack`
    const basic = (pair: string) => `Basic ${Buffer.from(pair).toString('base64')}`
    for (const authorization of [
      `Bearer ${app.ownerToken}`,
      basic(app.ownerToken),
      basic(`${app.ownerToken}:x`),
      basic(`${app.ownerToken}:x-oauth-basic:`),
      basic(':'),
      basic('x-oauth-basic:'),
      basic(':x-oauth-basic'),
      `Digest ${basic(`x-access-token:${app.ownerToken}`)}`,
      `${basic(`x-access-token:${app.ownerToken}`)} x`,
      'Basic',
      'Basic !!!',
    ])
      expect((await app.request('GET', path, { token: null, headers: { authorization } })).status).toBe(401)
  })

  test('pushes to the host of an external project, except to its default branch', async () => {
    const { project, repo } = await app.externalProject()
    const dir = await workTree(app.ownerToken, { project })
    const head = (await git(dir, 'rev-parse', 'HEAD')).said.trim()
    expect(await git(dir, 'push', 'origin', 'HEAD:refs/heads/outside')).toMatchObject({ ok: true })
    expect(await repo.tip('outside')).toBe(head)
    const main = await repo.tip('main')
    const refused = await git(dir, 'push', 'origin', 'HEAD:refs/heads/main')
    expect(refused.said).toContain('svc cr open')
    expect(await repo.tip('main')).toBe(main)
    // Commits that reached the host in another way arrive with the next fetch.
    const newer = await commit(repo, 'main', { 'b.txt': 'b\n' })
    await git(dir, 'fetch', 'origin')
    expect((await git(dir, 'rev-parse', 'origin/main')).said.trim()).toBe(newer)
  })
})

describe('git for an agent', () => {
  let session: RunningSession
  let credential: string
  beforeAll(async () => {
    session = await app.running()
    const reply = await app.request<{
      repo_url: string
      auth: { username: string; token: string }
      expires_at: string
    }>('GET', `/v1/projects/${app.project.project_id}/git/clone-credential`, { token: session.env.SVC_TOKEN! })
    expect(reply.body).toMatchObject({
      auth: { type: 'basic', username: 'x-access-token' },
      repo_url: session.env.SVC_REPO_URL!,
    })
    const minutes = (Date.parse(reply.body.expires_at) - Date.now()) / 60_000
    expect(Math.abs(minutes - 15)).toBeLessThan(1)
    credential = reply.body.auth.token
  }, 120_000)

  const tokens = (): [string, string][] => [
    ['clone credential', credential],
    ['bound token', session.env.SVC_CLI_TOKEN!],
  ]

  test('pushes its session branch forward', async () => {
    for (const [, token] of tokens()) {
      const dir = await workTree(token, { branch: session.branch_name })
      const pushed = await git(dir, 'push', 'origin', 'HEAD')
      expect(pushed).toMatchObject({ ok: true })
      expect(await tip(session.branch_name)).toBe((await git(dir, 'rev-parse', 'HEAD')).said.trim())
    }
  })

  test('refuses other writes: the default branch, other branches, tags, hidden refs, rewinds', async () => {
    const other = await app.running()
    for (const [, token] of tokens()) {
      const dir = await workTree(token, { branch: session.branch_name })
      const own = `refs/heads/${session.branch_name}`
      await git(dir, 'tag', 'v1')
      await git(dir, 'branch', '--force', 'main', 'HEAD')
      const before = await refs()
      const attempts = [
        ['HEAD:refs/heads/main'],
        ['--force', 'HEAD:refs/heads/main'],
        [':refs/heads/main'],
        ['HEAD:refs/heads/other'],
        [`HEAD:refs/heads/${other.branch_name}`],
        ['HEAD:refs/heads/users-work'],
        ['HEAD:refs/tags/v1'],
        ['--tags'],
        ['--mirror'],
        ['--all'],
        [`HEAD:${own}`, 'HEAD:refs/heads/main'],
        ['--atomic', `HEAD:${own}`, 'HEAD:refs/heads/other'],
        [`:${own}`],
        ['--force', `HEAD~2:${own}`],
        ['--force', `origin/main:${own}`],
        ['HEAD:refs/svc/cr/1/base'],
        [`HEAD:refs/svc/wip/${session.branch_name}`],
        ['HEAD:refs/replace/0000000000000000000000000000000000000001'],
        [`HEAD:${own}/below`],
        [`HEAD:${own.toUpperCase()}`],
        ['HEAD:HEAD'],
        ['HEAD:refs/heads/HEAD'],
        ['HEAD:refs/remotes/origin/main'],
      ]
      for (const attempt of attempts)
        expect([attempt, (await git(dir, 'push', 'origin', ...attempt)).ok]).toEqual([attempt, false])
      expect(await refs()).toBe(before)
    }
  }, 120_000)

  test('refuses its own branch while that is the default branch', async () => {
    const { project, repo } = await app.managedProject()
    const path = `/v1/projects/${project.project_id}`
    const { session_id: branch, token } = await app.makeSession(project)
    await commit(repo, branch, { 'work.txt': 'work\n' })
    const dir = await workTree(token, { project, branch })
    const before = await tip(branch, project)
    expect((await app.request('PATCH', path, { body: { default_branch: branch } })).status).toBe(200)
    const { ok, said } = await git(dir, 'push', 'origin', `HEAD:refs/heads/${branch}`)
    expect(ok).toBeFalse()
    expect(said).toContain('svc cr open')
    expect(await tip(branch, project)).toBe(before)
    await app.request('PATCH', path, { body: { default_branch: 'main' } })
    expect(await git(dir, 'push', 'origin', `HEAD:refs/heads/${branch}`)).toMatchObject({ ok: true })
  })

  test('keeps its branch from becoming the default branch while its session is live', async () => {
    const live = await app.running()
    const edit = () =>
      app.request<{ code: string; hint: string }>('PATCH', `/v1/projects/${app.project.project_id}`, {
        body: { default_branch: live.branch_name },
      })
    const { status, body } = await edit()
    expect([status, body.code]).toEqual([409, 'conflict'])
    expect(body.hint).toContain(`svc sessions stop ${live.session_id}`)
    await app.request('POST', app.path(live.session_id, 'stop'))
    await app.reaches(live.session_id, 'stopped')
    expect((await edit()).status).toBe(200)
    const back = { body: { default_branch: 'main' } }
    expect((await app.request('PATCH', `/v1/projects/${app.project.project_id}`, back)).status).toBe(200)
  })

  test('an agent of another project reaches nothing', async () => {
    const { project } = await app.managedProject()
    for (const [, token] of tokens()) expect((await git(door.home, 'ls-remote', urlOf(project, token))).ok).toBeFalse()
  })

  test('refuses a credential that expired or whose session stopped', async () => {
    const doomed = await app.running()
    const dir = await workTree(doomed.env.SVC_CLI_TOKEN!, { branch: doomed.branch_name })
    await app.request('POST', app.path(doomed.session_id, 'stop'))
    const before = await refs()
    expect((await git(dir, 'push', 'origin', 'HEAD')).ok).toBeFalse()
    expect((await git(dir, 'fetch', 'origin')).ok).toBeFalse()
    expect(await refs()).toBe(before)
    await app.deps.db
      .updateTable('sandbox_credentials')
      .set({ expires_at: new Date(Date.now() - 1) })
      .where('session_id', '=', session.session_id)
      .where('kind', '=', 'clone')
      .execute()
    expect((await git(door.home, 'ls-remote', urlOf(app.project, credential))).ok).toBeFalse()
  })
})
