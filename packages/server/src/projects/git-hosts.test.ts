import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ChangeRequest, ErrorBody, Project } from '@svc/contract'
import {
  commit,
  findSshd,
  type GitHubStandIn,
  makeRepo,
  makeSshKey,
  serveGitHub,
  serveHttpBackend,
  serveSsh,
  type Sshd,
  tempDir,
  type TestRepository,
} from '@svc/git/testing'
import { makeTestApp, type TestApp } from '../testing.ts'
import { dumpDatabase, filesHolding, holds, keepLog, shapesOf, type Sighting, sightings } from './testing-canary.ts'

// A busy machine makes git slow, which must not fail a test.
setDefaultTimeout(120_000)

type Answer = Project & ErrorBody & { session_id: string; branch_name: string }

let origin: TestRepository
let temp: Awaited<ReturnType<typeof tempDir>>
beforeAll(async () => {
  origin = await makeRepo({ main: { a: '1\n' } })
  temp = await tempDir()
})
afterAll(async () => {
  await origin.remove()
  await temp.remove()
})

const create = (app: TestApp, body: object, token?: string) =>
  app.request<Answer>('POST', '/v1/projects', { body, ...(token ? { token } : {}) })
const startSession = (app: TestApp, project: Project) =>
  app.request<Answer>('POST', `/v1/projects/${project.project_id}/sessions`, { body: {} })

describe('a private repository with a token', () => {
  const password = `canary+${crypto.randomUUID()}/=`
  const shapes = shapesOf(password)
  const seen: Sighting[] = []
  const kept = keepLog()
  let app: TestApp
  let host: Awaited<ReturnType<typeof serveHttpBackend>>
  const replies: string[] = []
  beforeAll(async () => {
    app = await makeTestApp({ log: kept.log })
    host = await serveHttpBackend(origin.dir, {
      auth: { username: 'x-access-token', password },
      // The git process exists while the host answers it.
      before: () => void seen.push(...sightings(shapes)),
    })
  }, 120_000)
  afterAll(async () => {
    await host.close()
    await app.close()
  })

  let project: Project
  test('refuses the repository without a token and says how to give one', async () => {
    const bare = await create(app, { repo_url: host.url })
    expect([bare.status, bare.body.code]).toEqual([400, 'repository_refused'])
    expect(bare.body.hint).toContain('--git-token -')
    const wrong = await create(app, { repo_url: host.url, git_token: `${password}x` })
    expect([wrong.status, wrong.body.code]).toEqual([400, 'repository_refused'])
    replies.push(bare.text, wrong.text)
  })

  test('accepts the repository with a token and creates a session branch there', async () => {
    const made = await create(app, { repo_url: host.url, git_token: password })
    expect(made.status).toBe(201)
    project = made.body
    const session = await startSession(app, project)
    expect(session.status).toBe(201)
    expect(await origin.tip(session.body.branch_name)).toBe(await origin.tip('main'))
    replies.push(made.text, session.text)
  })

  test('compares and merges a change request there', async () => {
    const head = await commit(origin, 'work', { b: '2\n' })
    const path = `/v1/projects/${project.project_id}/change-requests`
    const opened = await app.request<ChangeRequest>('POST', path, { body: { title: 'Work', head_ref: 'work' } })
    const diff = await app.request('GET', `${path}/${opened.body.cr_id}/diff`)
    const merged = await app.request('POST', `${path}/${opened.body.cr_id}/merge`, { body: {} })
    expect([opened.status, diff.status, merged.status]).toEqual([201, 200, 200])
    expect(await origin.tip('main')).toBe(head)
    replies.push(opened.text, diff.text, merged.text)
  })

  test('errors of the host contain no credential', async () => {
    await host.close()
    const path = `/v1/projects/${project.project_id}`
    const session = await startSession(app, project)
    const edited = await app.request<ErrorBody>('PATCH', path, { body: { git_token: password } })
    expect([session.status, edited.status]).toEqual([502, 502])
    replies.push(session.text, edited.text, (await app.request('GET', path)).text)
    replies.push((await app.request('GET', '/v1/projects')).text)
  })

  test('the token appears in no command line, no other program, and no reply, log, file or row', async () => {
    // This shows that the search works.
    expect(seen.filter((one) => one.where === 'environ').length).toBeGreaterThan(0)
    expect(seen.filter((one) => one.where === 'cmdline' || !one.program.startsWith('git'))).toEqual([])
    expect(sightings(shapes)).toEqual([])
    expect(kept.text().length).toBeGreaterThan(0)
    for (const text of [...replies, kept.text(), await dumpDatabase(app)]) expect(holds(text, shapes)).toBeFalse()
    expect(filesHolding(app.deps.config.dataDir, shapes)).toEqual([])
    expect(filesHolding(app.deps.config.dataDir, [Buffer.from('[core]')]).length).toBeGreaterThan(0)
  })
})

describe('a GitHub-style host', () => {
  let host: GitHubStandIn
  let app: TestApp
  const kept = keepLog()
  beforeAll(async () => {
    host = await serveGitHub(origin.dir)
    host.tokens.set('canary-both', 'both')
    host.tokens.set('canary-git', 'git')
    const privateKeyFile = join(temp.path, 'app.pem')
    writeFileSync(privateKeyFile, host.app.privateKey)
    const github = {
      apis: { [host.host]: host.apiUrl },
      app: { id: host.app.id, privateKeyFile, apiUrl: host.apiUrl, accounts: null },
    }
    app = await makeTestApp({ log: kept.log, configure: { github } })
  }, 120_000)
  afterAll(async () => {
    await app.close()
    await host.close()
  })

  test("creates the session branch by the API with the project's token", async () => {
    const { body: project } = await create(app, { repo_url: host.repoUrl, git_token: 'canary-both' })
    host.apiRequests.length = 0
    const session = await startSession(app, project)
    expect(session.status).toBe(201)
    expect(await origin.tip(session.body.branch_name)).toBe(await origin.tip('main'))
    expect(host.apiRequests).toEqual(['POST /repos/acme/repo/git/refs'])
    expect(host.app.minted).toEqual([])
  })

  test('pushes the branch when the token may not use the API, and logs why', async () => {
    const { body: project } = await create(app, { repo_url: host.repoUrl, git_token: 'canary-git' })
    const session = await startSession(app, project)
    expect(session.status).toBe(201)
    expect(await origin.tip(session.body.branch_name)).toBe(await origin.tip('main'))
    expect(kept.text()).toContain('Resource not accessible by personal access token (HTTP status 403)')
  })

  test("uses the operator's App when the project has no token", async () => {
    const made = await create(app, { repo_url: host.repoUrl })
    expect(made.status).toBe(201)
    const session = await startSession(app, made.body)
    expect(session.status).toBe(201)
    expect(await origin.tip(session.body.branch_name)).toBe(await origin.tip('main'))
    expect(host.app.minted).toHaveLength(1)
    const shapes = shapesOf(host.app.minted[0]!)
    for (const text of [made.text, session.text, kept.text(), await dumpDatabase(app)])
      expect(holds(text, shapes)).toBeFalse()
  })

  test('does not use the App for other accounts of this server', async () => {
    const stranger = await app.makeUser('owner', 'own')
    const minted = host.app.minted.length
    const refused = await create(app, { repo_url: host.repoUrl }, stranger.token)
    expect([refused.status, refused.body.code]).toEqual([400, 'repository_refused'])
    expect(host.app.minted).toHaveLength(minted)
    expect((await create(app, { repo_url: host.repoUrl, git_token: 'canary-both' }, stranger.token)).status).toBe(201)
  })

  test('says when the App is not installed on the repository', async () => {
    const other = host.repoUrl.replace('repo.git', 'elsewhere.git')
    const refused = await create(app, { repo_url: other })
    expect([refused.status, refused.body.error]).toEqual([
      400,
      'The GitHub App of this server is not installed on acme/elsewhere.',
    ])
    expect(refused.body.hint).toContain('--git-token')
  })
})

describe.skipIf(findSshd() === null)('a repository over ssh', () => {
  let sshd: Sshd
  let app: TestApp
  let keys: { privateKey: string; publicKey: string }
  let shapes: Buffer[]
  const kept = keepLog()
  const replies: string[] = []
  const seen: Sighting[] = []
  let watch: ReturnType<typeof setInterval>
  beforeAll(async () => {
    sshd = await serveSsh(join(temp.path, 'sshd'))
    keys = makeSshKey(temp.path)
    // A line from the middle, which is the key and nothing else.
    shapes = shapesOf(keys.privateKey.split('\n')[2]!)
    sshd.authorize(keys.publicKey)
    app = await makeTestApp({ log: kept.log })
    watch = setInterval(() => seen.push(...sightings(shapes)), 25)
  }, 120_000)
  afterAll(async () => {
    clearInterval(watch)
    await app.close()
    await sshd.close()
  })
  const address = () => `${sshd.origin}${origin.dir}`

  let project: Project
  test('creates a project with a key, and a session branch there', async () => {
    const made = await create(app, { repo_url: address(), git_token: keys.privateKey })
    expect([made.status, made.body.default_branch, made.body.repo_url]).toEqual([201, 'main', address()])
    project = made.body
    const session = await startSession(app, project)
    expect(session.status).toBe(201)
    expect(await origin.tip(session.body.branch_name)).toBe(await origin.tip('main'))
    replies.push(made.text, session.text)
  })

  test('refuses a key that the host does not know, or that the project may not use', async () => {
    const strange = await create(app, { repo_url: address(), git_token: makeSshKey(temp.path).privateKey })
    expect([strange.status, strange.body.code]).toEqual([400, 'repository_refused'])
    const locked = makeSshKey(temp.path, { passphrase: 'secret' }).privateKey
    const wrong: [object, string][] = [
      [{ repo_url: address(), git_token: locked }, 'passphrase'],
      [{ repo_url: address(), git_token: 'ghp_token' }, 'needs a private key'],
      [{ repo_url: 'https://127.0.0.1:1/x.git', git_token: keys.privateKey }, 'requires an ssh:// URL'],
    ]
    for (const [body, words] of wrong) {
      const refused = await create(app, body)
      expect([refused.status, refused.body.code, refused.body.error]).toEqual([
        400,
        'repository_refused',
        expect.stringContaining(words) as unknown as string,
      ])
      replies.push(refused.text)
    }
  })

  test('does not contact a host with a changed key until the credential is given again', async () => {
    await sshd.changeHostKey()
    const refused = await startSession(app, project)
    expect([refused.status, refused.body.error]).toEqual([
      502,
      expect.stringContaining('ssh host key of the git host changed') as unknown as string,
    ])
    const body = { git_token: keys.privateKey }
    const edited = await app.request('PATCH', `/v1/projects/${project.project_id}`, { body })
    expect([edited.status, (await startSession(app, project)).status]).toEqual([200, 201])
    replies.push(refused.text, edited.text)
  })

  test('returns the private key in no reply', async () => {
    expect(seen).toEqual([])
    for (const text of [...replies, kept.text(), await dumpDatabase(app)]) expect(holds(text, shapes)).toBeFalse()
    expect(filesHolding(app.deps.config.dataDir, shapes)).toEqual([])
  })

  test('requires a key on a shared server, not the keys of its user', async () => {
    const shared = await makeTestApp({ configure: { allowPrivateGitHosts: false } })
    try {
      const refused = await create(shared, { repo_url: 'ssh://git@192.88.98.1/a/b.git' })
      expect([refused.status, refused.body.error]).toEqual([
        400,
        'A repository with an ssh:// URL needs a private key as its git_token.',
      ])
    } finally {
      await shared.close()
    }
  })
})
