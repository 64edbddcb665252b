/** An empty repository of this server gets its first commit by a request, under the rules of a push. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Project } from '@svc/contract'
import type { Repository } from '@svc/git'
import { commit } from '@svc/git/testing'
import { managedDir } from '../../projects/repository.ts'
import { makeTestApp, projectPath, type TestApp } from '../../test-app.ts'
import { gitText, type Refusal } from '../testing.ts'

let app: TestApp
beforeAll(async () => {
  app = await makeTestApp()
}, 120_000)
afterAll(() => app.close())

interface Made {
  branch: string
  sha: string
}

async function emptyProject(more: object = {}) {
  const { body: project } = await app.request<Project>('POST', '/v1/projects', { body: { name: 'Web shop', ...more } })
  const repo: Repository = { dir: managedDir(app.deps, project.project_id), remote: null }
  return {
    project,
    repo,
    send: <Body = Made>(body?: object, token = app.ownerToken, headers = {}) =>
      app.request<Body>('POST', projectPath(project, 'first-commit'), { body, token, headers }),
    refs: () => gitText(repo, 'for-each-ref', '--format=%(refname)'),
    audit: () =>
      app.deps.db
        .selectFrom('audit_events')
        .select(['object_id', 'after'])
        .where('project_id', '=', project.project_id)
        .where('action', '=', 'project.first_commit')
        .execute(),
  }
}

const files = [
  { path: 'README.md', content: '# Shop\n' },
  { path: 'src/index.html', content: '<p>one</p>\r\ntwo' },
]

test('is a README with the name of the project unless the caller gives files', async () => {
  const { project, repo, send } = await emptyProject({ default_branch: 'trunk' })
  const { status, body } = await send({})
  expect([status, body.branch]).toEqual([201, 'trunk'])
  expect(await gitText(repo, 'rev-parse', 'refs/heads/trunk')).toBe(body.sha)
  expect(await gitText(repo, 'show', 'trunk:README.md')).toBe('# Web shop')
  const branches = await app.request<{ branches: { name: string }[] }>('GET', projectPath(project, 'branches'))
  expect(branches.body.branches).toMatchObject([{ name: 'trunk' }])
  const edit = { path: 'README.md', blob_sha: await gitText(repo, 'rev-parse', 'trunk:README.md'), content: '# Shop\n' }
  expect((await app.request('POST', projectPath(project, 'file'), { body: edit })).status).toBe(201)
})

test('is a README, too, of a request without a body', async () => {
  const { send } = await emptyProject()
  expect((await send()).status).toBe(201)
})

test('commits the given files byte by byte as the caller, and the audit log has it once', async () => {
  const { repo, send, audit } = await emptyProject()
  const member = await app.makeUser('member')
  const { status, body } = await send({ files, message: 'Begin' }, member.token)
  expect(status).toBe(201)
  expect(await gitText(repo, 'log', '--format=%an|%ae|%s|%P', 'main')).toBe(`A member|${member.user_id}|Begin|`)
  expect(await gitText(repo, 'ls-tree', '-r', '--name-only', 'main')).toBe('README.md\nsrc/index.html')
  expect(await gitText(repo, 'show', 'main:src/index.html')).toBe('<p>one</p>\r\ntwo')
  await gitText(repo, 'fsck', '--strict')
  // An answer can be lost, so the same request of the same person finds the commit.
  expect((await send({ files, message: 'Begin' }, member.token)).body).toEqual(body)
  expect(await audit()).toEqual([{ object_id: body.sha, after: { branch: 'main' } }])
})

test('is made once by requests that arrive together, whether or not they have a key', async () => {
  const { repo, send, audit } = await emptyProject()
  const key = { 'idempotency-key': 'first-commit-of-both' }
  const made = await Promise.all([send({ files }), send({ files })])
  expect(made.map(({ status }) => status)).toEqual([201, 201])
  expect(made[1].body).toEqual(made[0].body)
  expect(await gitText(repo, 'rev-list', '--count', '--all')).toBe('1')
  expect(await audit()).toHaveLength(1)
  const other = await emptyProject()
  const first = await other.send({ files }, app.ownerToken, key)
  const again = await other.send({ files }, app.ownerToken, key)
  expect([again.status, again.body]).toEqual([201, first.body])
})

test('is refused once the repository has a branch, with the next step', async () => {
  const { repo, send, refs } = await emptyProject()
  await send({ files })
  const before = await gitText(repo, 'rev-parse', 'main')
  for (const refused of [
    await send<Refusal>({}),
    await send<Refusal>({ files }, (await app.makeUser('member')).token),
    await send<Refusal>({ files: [{ path: 'other', content: '' }] }),
  ])
    expect([refused.status, refused.body]).toMatchObject([
      409,
      {
        code: 'conflict',
        error: 'The repository is not empty: it has the branch "main".',
        hint: 'Nothing was changed. Change files on a branch, and open a change request.',
      },
    ])
  expect(await gitText(repo, 'rev-parse', 'main')).toBe(before)
  const pushed = await emptyProject()
  await commit(pushed.repo, 'work', { a: '1\n' })
  expect((await pushed.send<Refusal>({})).body).toMatchObject({ code: 'conflict', branch: 'work' })
  expect(await pushed.refs()).toBe('refs/heads/work')
  expect(await refs()).toBe('refs/heads/main')
})

test('is refused to agents, viewers and strangers, and for a repository on another host', async () => {
  const { project, send, refs } = await emptyProject()
  const { token: agent } = await app.makeSession(project)
  expect((await send<Refusal>({}, agent)).body).toMatchObject({
    code: 'forbidden',
    error: 'An agent cannot edit files as a person.',
  })
  expect((await send({}, (await app.makeUser('viewer')).token)).status).toBe(403)
  expect((await send({}, (await app.makeUser('owner', 'own')).token)).status).toBe(403)
  expect(await refs()).toBe('')
  const external = await app.externalProject()
  const refused = await app.request<Refusal>('POST', projectPath(external.project, 'first-commit'), { body: {} })
  expect([refused.status, refused.body.code]).toEqual([409, 'conflict'])
  expect(refused.body.error).toBe('This repository is on another git host, which makes its first commit.')
})

test.each([
  [[{ path: 'a/../b', content: '' }], '"a/../b" is no path of a file in a repository.'],
  [[{ path: '.git/config', content: '' }], '".git/config" is no path of a file in a repository.'],
  [[files[0], files[0]], '"README.md" is there twice.'],
  [[files[0], { path: 'README.md/x', content: '' }], '"README.md/x" is a file and a folder at once.'],
  [
    [
      { path: 'a/b', content: '' },
      { path: 'a', content: '' },
    ],
    '"a" is a file and a folder at once.',
  ],
])('refuses the files %j', async (refusedFiles, error) => {
  const { send, refs } = await emptyProject()
  const refused = await send<Refusal>({ files: refusedFiles })
  expect(refused.body).toMatchObject({ code: 'invalid', error })
  expect(await refs()).toBe('')
})

test('has the limits of an edit: size, number of files, quota and values of secrets', async () => {
  const { project, send, refs } = await emptyProject()
  const half = 'é'.repeat(128 * 1024)
  const twoHalves = [
    { path: 'a', content: half },
    { path: 'b', content: `${half}é` },
  ]
  expect((await send<Refusal>({ files: twoHalves })).body).toMatchObject({
    code: 'invalid',
    issues: [{ path: 'files', message: 'is longer than 512 KiB' }],
  })
  const many = Array.from({ length: 21 }, (_, index) => ({ path: `${index}`, content: '' }))
  expect((await send<Refusal>({ files: many })).body).toMatchObject({ code: 'invalid' })
  await app.request('POST', projectPath(project, 'secrets'), {
    body: { name: 'API_KEY', value: 'sk-very-secret-value-1234' },
  })
  const secret = await send<Refusal>({ files: [{ path: '.env', content: 'KEY=sk-very-secret-value-1234\n' }] })
  expect([secret.status, secret.body.error]).toEqual([422, '.env:1 adds the value of the secret API_KEY.'])
  await app.request('PATCH', `/v1/projects/${project.project_id}`, { body: { settings: { quota_push_bytes: 1024 } } })
  const large = await send<Refusal>({ files: [{ path: 'a', content: 'x'.repeat(2048) }] })
  expect([large.status, large.body.code]).toEqual([413, 'quota_exceeded'])
  expect(await refs()).toBe('')
  expect((await send({ files })).status).toBe(201)
})
