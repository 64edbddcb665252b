/** The credentials of a project at its git host: a key that the server created, and a token that also serves the host's API. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ChangeRequest, ErrorBody, Project } from '@svc/contract'
import {
  commit,
  findSshd,
  type GitHubStandIn,
  makeRepo,
  serveGitHub,
  serveSsh,
  type Sshd,
  tempDir,
  type TestRepository,
} from '@svc/git/testing'
import { makeTestApp, type TestApp } from '../testing.ts'
import { dumpDatabase, filesHolding, holds, keepLog, shapesOf } from './testing-canary.ts'

setDefaultTimeout(120_000)

type Answer = Project & ErrorBody & { session_id: string; branch_name: string }

let app: TestApp
let origin: TestRepository
let temp: Awaited<ReturnType<typeof tempDir>>
const kept = keepLog()
beforeAll(async () => {
  origin = await makeRepo({ main: { a: '1\n' } })
  temp = await tempDir()
  app = await makeTestApp({ log: kept.log })
}, 120_000)
afterAll(async () => {
  await app.close()
  await origin.remove()
  await temp.remove()
})

const create = (body: object) => app.request<Answer>('POST', '/v1/projects', { body })
const edit = (project: Project, body: object) =>
  app.request<Answer>('PATCH', `/v1/projects/${project.project_id}`, { body })
const startSession = (project: Project) =>
  app.request<Answer>('POST', `/v1/projects/${project.project_id}/sessions`, { body: {} })

async function openAndMerge(project: Project, branch: string): Promise<number[]> {
  const head = await commit(origin, branch, { [branch]: '2\n' })
  const path = `/v1/projects/${project.project_id}/change-requests`
  const opened = await app.request<ChangeRequest>('POST', path, { body: { title: branch, head_ref: branch } })
  const diff = await app.request('GET', `${path}/${opened.body.cr_id}/diff`)
  const merged = await app.request('POST', `${path}/${opened.body.cr_id}/merge`, { body: { expected_head_sha: head } })
  return [opened.status, diff.status, merged.status]
}

describe.skipIf(findSshd() === null)('a key that the server creates', () => {
  let sshd: Sshd
  let project: Project
  beforeAll(async () => {
    sshd = await serveSsh(join(temp.path, 'sshd'))
  }, 120_000)
  afterAll(() => sshd.close())

  test('returns the public key with the project', async () => {
    const made = await create({ repo_url: `${sshd.origin}${origin.dir}`, name: 'Over ssh', git_ssh_key: 'generate' })
    expect(made.status).toBe(201)
    project = made.body
    expect(project.ssh_public_key).toMatch(/^ssh-ed25519 [A-Za-z0-9+/=]+ svc over-ssh$/)
    const read = await app.request<Project>('GET', `/v1/projects/${project.project_id}`)
    expect(read.body.ssh_public_key).toBe(project.ssh_public_key)
    const path = join(temp.path, 'public')
    writeFileSync(path, `${project.ssh_public_key}\n`)
    expect(execFileSync('ssh-keygen', ['-l', '-f', path]).toString()).toMatch(
      /^256 SHA256:\S+ svc over-ssh \(ED25519\)/,
    )
  })

  test('says that the host does not accept the key yet', async () => {
    const refused = await startSession(project)
    expect([refused.status, refused.body.code]).toEqual([502, 'repository_unreachable'])
    expect(refused.body.hint).toContain('svc projects info')
  })

  test('serves sessions and merges after the host accepts it', async () => {
    sshd.authorize(project.ssh_public_key!)
    const session = await startSession(project)
    expect(session.status).toBe(201)
    expect(await origin.tip(session.body.branch_name)).toBe(await origin.tip('main'))
    expect(await openAndMerge(project, 'by-ssh')).toEqual([201, 200, 200])
    expect(await origin.tip('main')).toBe(await origin.tip('by-ssh'))
  })

  test('replaces the key on request', async () => {
    const edited = await edit(project, { git_ssh_key: 'generate' })
    expect(edited.status).toBe(200)
    expect(edited.body.ssh_public_key).not.toBe(project.ssh_public_key)
    expect((await startSession(project)).status).toBe(502)
    sshd.authorize(edited.body.ssh_public_key!)
    expect((await startSession(project)).status).toBe(201)
  })

  test('combines only with ssh and no other credential', async () => {
    for (const body of [
      { git_ssh_key: 'generate' },
      { git_ssh_key: 'mine', repo_url: `${sshd.origin}${origin.dir}` },
      { git_ssh_key: 'generate', repo_url: `${sshd.origin}${origin.dir}`, git_token: 'x' },
      { git_ssh_key: 'generate', repo_url: `file://${origin.dir}` },
    ])
      expect([400, body]).toEqual([(await create(body)).status, body])
  })

  test('writes the private key into no row, file or log in plain text', async () => {
    const shapes = [Buffer.from('PRIVATE KEY'), Buffer.from('b3BlbnNzaC1rZXktdjE')]
    for (const text of [kept.text(), await dumpDatabase(app)]) expect(holds(text, shapes)).toBeFalse()
    expect(filesHolding(app.deps.config.dataDir, shapes)).toEqual([])
  })
})

describe('a project that names its host as GitHub-style', () => {
  let host: GitHubStandIn
  let project: Project
  beforeAll(async () => {
    host = await serveGitHub(origin.dir)
    host.tokens.set('canary-both', 'both')
  })
  afterAll(() => host.close())

  test('treats the host as a plain one by default, with the token', async () => {
    expect((await create({ repo_url: host.repoUrl })).body.code).toBe('repository_refused')
    const made = await create({ repo_url: host.repoUrl, git_token: 'canary-both' })
    expect([made.status, made.body.settings.git_host]).toEqual([201, 'auto'])
    project = made.body
    expect((await startSession(project)).status).toBe(201)
    expect(host.apiRequests).toEqual([])
  })

  test('creates branches by the API after the change, and still merges', async () => {
    const edited = await edit(project, { settings: { git_host: 'github' } })
    expect([edited.status, edited.body.settings]).toMatchObject([200, { git_host: 'github', git_api_url: null }])
    const session = await startSession(project)
    expect(session.status).toBe(201)
    expect(await origin.tip(session.body.branch_name)).toBe(await origin.tip('main'))
    expect(host.apiRequests).toEqual(['POST /repos/acme/repo/git/refs'])
    expect(await openAndMerge(project, 'by-token')).toEqual([201, 200, 200])
    expect(await origin.tip('main')).toBe(await origin.tip('by-token'))
  })

  test('accepts another URL of the API from a user who knows the token', async () => {
    const elsewhere = await serveGitHub(origin.dir)
    elsewhere.tokens.set('canary-both', 'both')
    const settings = { git_host: 'github', git_api_url: elsewhere.apiUrl }
    const refused = await edit(project, { settings })
    expect([refused.status, refused.body.hint]).toEqual([
      400,
      expect.stringContaining('git_token') as unknown as string,
    ])
    expect((await edit(project, { settings, git_token: 'canary-both' })).status).toBe(200)
    expect((await startSession(project)).status).toBe(201)
    expect(elsewhere.apiRequests).toEqual(['POST /repos/acme/repo/git/refs'])
    await elsewhere.close()
  })

  test('treats the host as a plain one again after the setting is removed', async () => {
    host.apiRequests.length = 0
    expect((await edit(project, { settings: { git_host: 'plain', git_api_url: null } })).status).toBe(200)
    expect((await startSession(project)).status).toBe(201)
    expect(host.apiRequests).toEqual([])
  })

  test('refuses an API URL that must not be called', async () => {
    const shared = await makeTestApp({ configure: { allowPrivateGitHosts: false } })
    try {
      const { project: managed } = await shared.managedProject()
      // A URL that was allowed when the project was created.
      await shared.deps.db
        .updateTable('projects')
        .set({ managed: false, repo_url: 'https://192.88.98.1/acme/repo' })
        .where('project_id', '=', managed.project_id)
        .execute()
      const path = `/v1/projects/${managed.project_id}`
      const addresses = ['http://127.0.0.1:1/api', 'https://127.0.0.1/api', 'https://[::1]/api', 'https://10.0.0.1']
      const odd = ['file:///etc', 'ssh://git@192.88.98.1/x', 'https://u:p@192.88.98.1/api', 'https://192.88.98.1/a?b']
      for (const git_api_url of [...addresses, ...odd]) {
        const body = { settings: { git_host: 'github', git_api_url }, git_token: 'x' }
        const refused = await shared.request<ErrorBody>('PATCH', path, { body })
        expect([git_api_url, refused.status, refused.body.code]).toEqual([git_api_url, 400, 'repository_refused'])
      }
    } finally {
      await shared.close()
    }
  })

  test('refuses the setting without an external repository', async () => {
    const { project: managed } = await app.managedProject()
    expect((await edit(managed, { settings: { git_host: 'github' } })).status).toBe(400)
    expect((await edit(project, { settings: { git_host: 'auto', git_api_url: host.apiUrl } })).status).toBe(400)
    expect((await edit(project, { settings: { git_host: 'gitlab' } })).status).toBe(400)
  })

  test('returns the token in no reply', async () => {
    for (const text of [kept.text(), await dumpDatabase(app)]) expect(holds(text, shapesOf('canary-both'))).toBeFalse()
  })
})
