import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { ErrorBody, Project } from '@svc/contract'
import { commit, type HttpBackend, makeRepo, serveHttpBackend, type TestRepository } from '@svc/git/testing'
import { makeTestApp, type TestApp } from '../testing.ts'
import { slugOf } from './create.ts'

let app: TestApp
let repo: TestRepository
const hosts: HttpBackend[] = []
beforeAll(async () => {
  app = await makeTestApp()
  repo = await makeRepo({ main: { 'a.txt': 'a\n' }, dev: { 'b.txt': 'b\n' } })
}, 120_000)
afterAll(async () => {
  for (const host of hosts) await host.close()
  await app.close()
  await repo.remove()
})

async function host(options: Parameters<typeof serveHttpBackend>[1] = {}, dir = repo.dir): Promise<HttpBackend> {
  const made = await serveHttpBackend(dir, options)
  hosts.push(made)
  return made
}

const create = (body: object, token?: string) =>
  app.request<Project & ErrorBody>('POST', '/v1/projects', { body, ...(token ? { token } : {}) })

/** Rows and folders, which a refused project must not leave behind. */
async function footprint(): Promise<string> {
  const rows = await app.deps.db.selectFrom('projects').select('project_id').execute()
  const folders = ['repositories', 'mirrors'].map((name) => join(app.deps.config.dataDir, name))
  const entries = folders.flatMap((folder) => (existsSync(folder) ? readdirSync(folder) : []))
  return `${rows.length} rows, ${entries.length} folders`
}

describe('managed projects', () => {
  test('has the fields of the contract and a repository behind our own gateway', async () => {
    const { status, body } = await create({ name: 'My Project!' })
    expect(status).toBe(201)
    expect(body).toEqual({
      project_id: expect.any(String),
      account_id: app.owner.account_id,
      slug: 'my-project',
      name: 'My Project!',
      repo_url: `${app.deps.config.publicUrl}/v1/projects/${body.project_id}/git`,
      git_url: `${app.deps.config.publicUrl}/v1/projects/${body.project_id}/git`,
      default_branch: 'main',
      managed: true,
      config_dir: '.svc/runtime',
      ssh_public_key: null,
      settings: {
        agent_merge: 'deny',
        manifest_gate: 'off',
        git_host: 'auto',
        git_api_url: null,
        model_tokens_per_session: null,
        model_tokens_per_month: null,
        session_depth_max: 3,
        session_descendants_max: 10,
        session_starts_per_hour_max: 60,
        webhook_sessions_max: 10,
        webhook_fires_per_hour_max: 120,
        quota_repository_bytes: null,
        quota_push_bytes: null,
        quota_unfinished_work_bytes: null,
        quota_transcript_bytes: null,
        quota_check_log_bytes: null,
        quota_app_archive_bytes: null,
        quota_sessions_bytes: null,
      },
      created_at: expect.any(String),
      updated_at: expect.any(String),
    } as never)
    expect((await app.request('GET', `/v1/projects/${body.project_id}`)).body).toEqual(body as never)
    expect(existsSync(join(app.deps.config.dataDir, 'repositories', `${body.project_id}.git`, 'HEAD'))).toBeTrue()
  })

  test('has a name without a body', async () => {
    const { status, body } = await app.request<Project>('POST', '/v1/projects')
    expect([status, body.name, body.managed]).toEqual([201, expect.stringMatching(/./), true])
  })

  test('accepts another default branch and no credential', async () => {
    expect((await create({ default_branch: 'trunk' })).body.default_branch).toBe('trunk')
    expect((await create({ git_token: 'x' })).status).toBe(400)
  })

  test('a member creates a project, and only an admin or owner deletes it', async () => {
    const { token } = await app.makeUser('member')
    const made = await app.request<Project>('POST', '/v1/projects', { token, body: { name: 'of a member' } })
    expect(made.status).toBe(201)
    const path = `/v1/projects/${made.body.project_id}`
    expect((await app.request('DELETE', path, { token })).status).toBe(403)
    expect((await app.request('DELETE', path, { token: (await app.makeUser('admin')).token })).status).toBe(200)
  })

  test('a purge removes the folder of the repository', async () => {
    const before = await footprint()
    const { body } = await create({})
    const path = `/v1/projects/${body.project_id}`
    expect((await app.request('DELETE', `${path}?purge=true`)).body).toEqual({ ok: true, purge_at: null })
    expect(await footprint()).toBe(before)
    expect((await app.request('GET', path)).status).toBe(404)
    expect((await app.request('DELETE', path)).status).toBe(404)
  })
})

describe('external projects', () => {
  test('uses the default branch of the host, or the given one', async () => {
    const { url } = await host()
    const made = await create({ repo_url: url })
    expect([made.status, made.body.default_branch, made.body.managed, made.body.name]).toEqual([
      201,
      'main',
      false,
      'repo',
    ])
    expect(made.body.repo_url).toBe(url)
    expect((await create({ repo_url: url, default_branch: 'dev' })).body.default_branch).toBe('dev')
  })

  test('accepts a credential, which no reply contains', async () => {
    const password = 'canary-password'
    const { url } = await host({ auth: { username: 'x-access-token', password } })
    const made = await create({ repo_url: url, git_token: password })
    expect(made.status).toBe(201)
    const shown = await app.request('GET', `/v1/projects/${made.body.project_id}`)
    const listed = await app.request('GET', '/v1/projects')
    for (const { text } of [made, shown, listed]) {
      expect(text).not.toContain('canary')
      expect(text).not.toContain('data_key')
    }
    const other = await host({ auth: { username: 'someone', password } })
    expect((await create({ repo_url: other.url, git_token: password, git_username: 'someone' })).status).toBe(201)
  })
})

describe('unusable repositories', () => {
  const refused: [string, () => Promise<object>, number, string][] = [
    ['nothing listens', async () => ({ repo_url: 'http://127.0.0.1:1/x.git' }), 502, 'repository_unreachable'],
    [
      'it can be read only',
      async () => ({ repo_url: (await host({ readOnly: true })).url }),
      400,
      'repository_refused',
    ],
    [
      'it asks for a credential',
      async () => ({ repo_url: (await host({ auth: { username: 'u', password: 'p' } })).url }),
      ...([400, 'repository_refused'] as const),
    ],
    [
      'the credential is wrong',
      async () => ({ repo_url: (await host({ auth: { username: 'u', password: 'p' } })).url, git_token: 'wrong' }),
      ...([400, 'repository_refused'] as const),
    ],
    [
      'the branch is missing',
      async () => ({ repo_url: (await host()).url, default_branch: 'nope' }),
      400,
      'ref_not_found',
    ],
    [
      'the host answers 500',
      async () => ({ repo_url: (await host({ before: () => 500 })).url }),
      502,
      'repository_unreachable',
    ],
    [
      'the host sends us elsewhere',
      async () => ({ repo_url: (await host({ before: () => 'http://127.0.0.1:1/x.git' })).url }),
      ...([502, 'repository_unreachable'] as const),
    ],
    [
      'there is no such repository',
      async () => ({ repo_url: (await host()).url.replace('repo.git', 'no.git') }),
      0,
      '',
    ],
  ]
  test.each(refused)('creates nothing when %s', async (_, make, status, code) => {
    const before = await footprint()
    const { status: found, body } = await create(await make())
    if (status !== 0) expect([found, body.code]).toEqual([status, code])
    expect([400, 502]).toContain(found)
    expect(await footprint()).toBe(before)
    expect(JSON.stringify(body)).not.toContain('wrong')
  })

  test.each([
    ...[
      'x',
      '/etc',
      '../x',
      'file://',
      'ftp://127.0.0.1/x',
      'ext::sh -c "touch pwned"',
      '-uhttp://127.0.0.1/',
      '--upload-pack=x',
    ],
    ...[
      'http://',
      'http://127.0.0.1:99999/x',
      'javascript:alert(1)',
      'git://127.0.0.1/x',
      'http://user:pass@127.0.0.1:1/x.git',
    ],
    ...['http://127.0.0.1:1/x.git\nHost: evil', 'http://127.0.0.1:1/\u0000', 'data:text/plain,x'],
  ])('creates nothing for the repository URL %j', async (repo_url) => {
    const before = await footprint()
    const { status, body } = await create({ repo_url })
    expect([status, 'issues' in body || status === 502]).toEqual([status === 502 ? 502 : 400, true])
    expect(await footprint()).toBe(before)
  })

  test('a viewer cannot create a project', async () => {
    const { token } = await app.makeUser('viewer')
    const before = await footprint()
    expect((await create({ name: 'x' }, token)).status).toBe(403)
    expect(await footprint()).toBe(before)
  })
})

test('refuses addresses of this machine and unencrypted transports on a server without private git hosts', async () => {
  const strict = await makeTestApp({ configure: { allowPrivateGitHosts: false } })
  try {
    for (const repo_url of [
      ...['http://127.0.0.1:1/x.git', 'https://127.0.0.1/x.git', 'https://[::1]/x.git', 'https://localhost/x.git'],
      ...[
        'file:///etc',
        'https://127.1/x.git',
        'https://2130706433/x.git',
        'https://0x7f.1/x.git',
        'ssh://git@127.0.0.1/x',
      ],
    ]) {
      const reply = await strict.request<ErrorBody>('POST', '/v1/projects', { body: { repo_url } })
      expect([repo_url, reply.status, reply.body.code]).toEqual([repo_url, 400, 'repository_refused'])
    }
  } finally {
    await strict.close()
  }
})

describe('slugs of projects', () => {
  test('ten concurrent projects of one name get different slugs', async () => {
    const made = await Promise.all(Array.from({ length: 10 }, () => create({ name: 'Crowded' })))
    expect(made.map((reply) => reply.status)).toEqual(made.map(() => 201))
    expect(made.map((reply) => reply.body.slug).toSorted()).toEqual(
      ['crowded', ...Array.from({ length: 9 }, (_, n) => `crowded-${n + 2}`)].toSorted(),
    )
  })

  test('a slug of another account is free', async () => {
    const { token } = await app.makeUser('owner', 'own')
    expect((await create({ name: 'Crowded' }, token)).body.slug).toBe('crowded')
  })

  test.each([
    ['Größe & Maß', 'gro-e-ma'],
    ['  --x--  ', 'x'],
    ['日本', 'project'],
    ['', 'project'],
    ['a'.repeat(90), 'a'.repeat(50)],
    [`${'a'.repeat(49)} b`, `${'a'.repeat(49)}`],
  ])('the slug of %j has letters, digits and single dashes', (name, slug) => {
    const made = slugOf(name)
    expect(made).toMatch(/^[a-z0-9]+(-[a-z0-9]+)*$/)
    if (!name.startsWith('Gr')) expect(made).toBe(slug)
  })
})

describe('editing a project', () => {
  const edit = (project: Project, body: object, token?: string) =>
    app.request<Project & ErrorBody>('PATCH', `/v1/projects/${project.project_id}`, {
      body,
      ...(token ? { token } : {}),
    })

  test('requires a user token of an owner or admin', async () => {
    const { project } = await app.managedProject()
    const allow = { settings: { agent_merge: 'allow' } }
    const unbound = await app.makeToken({ project_id: project.project_id })
    const { token: bound } = await app.makeSession(project)
    for (const token of [unbound, bound, (await app.makeUser('member')).token, (await app.makeUser('viewer')).token])
      expect((await edit(project, allow, token)).status).toBe(403)
    const shown = await app.request<Project>('GET', `/v1/projects/${project.project_id}`)
    expect(shown.body.settings.agent_merge).toBe('deny')
    const admin = await app.makeUser('admin')
    expect((await edit(project, allow, admin.token)).body.settings).toEqual({
      agent_merge: 'allow',
      manifest_gate: 'off',
      git_host: 'auto',
      git_api_url: null,
      model_tokens_per_session: null,
      model_tokens_per_month: null,
      session_depth_max: 3,
      session_descendants_max: 10,
      session_starts_per_hour_max: 60,
      webhook_sessions_max: 10,
      webhook_fires_per_hour_max: 120,
      quota_repository_bytes: null,
      quota_push_bytes: null,
      quota_unfinished_work_bytes: null,
      quota_transcript_bytes: null,
      quota_check_log_bytes: null,
      quota_app_archive_bytes: null,
      quota_sessions_bytes: null,
    })
  })

  test('changes the given fields and keeps the others', async () => {
    const { project } = await app.managedProject()
    await edit(project, { settings: { manifest_gate: 'on' } })
    const { body } = await edit(project, { name: 'Renamed', settings: { agent_merge: 'allow' } })
    expect(body).toMatchObject({
      name: 'Renamed',
      slug: project.slug,
      settings: { agent_merge: 'allow', manifest_gate: 'on' },
    })
    expect((await edit(project, {})).body).toMatchObject({ name: 'Renamed', settings: body.settings })
  })

  test('changes the default branch to an existing one', async () => {
    const { project, repo: own } = await app.managedProject()
    expect((await edit(project, { default_branch: 'nope' })).body.code).toBe('ref_not_found')
    await commit(own, 'next', { 'b.txt': 'b\n' })
    expect((await edit(project, { default_branch: 'next' })).body.default_branch).toBe('next')
  })

  test('accepts a credential that can push, and only for an external repository', async () => {
    const { project } = await app.managedProject()
    expect((await edit(project, { git_token: 'x' })).status).toBe(400)
    const { url } = await host({ auth: { username: 'x-access-token', password: 'right' } })
    const external = (await create({ repo_url: url, git_token: 'right' })).body
    expect((await edit(external, { git_token: 'wrong' })).body.code).toBe('repository_refused')
    // The old one is still in use.
    expect((await app.request('GET', `/v1/projects/${external.project_id}/change-requests`)).status).toBe(200)
    expect((await app.request('GET', `/v1/projects/${external.project_id}/secrets`)).status).toBe(200)
    expect((await edit(external, { git_token: 'right' })).status).toBe(200)
  })

  test('keeps the user name of the credential, and accepts none without its token', async () => {
    const { url } = await host({ auth: { username: 'someone', password: 'right' } })
    const external = (await create({ repo_url: url, git_token: 'right', git_username: 'someone' })).body
    expect((await edit(external, { git_username: 'someone-else' })).status).toBe(400)
    expect((await edit(external, { git_token: 'right' })).status).toBe(200)
    expect((await edit(external, { git_token: 'right', git_username: 'x' })).body.code).toBe('repository_refused')
    expect((await app.request('GET', `/v1/projects/${external.project_id}/secrets`)).status).toBe(200)
  })
})

describe('listing projects', () => {
  test("lists the projects of the caller's accounts, newest first, in pages", async () => {
    const { token } = await app.makeUser('owner', 'own')
    const made: string[] = []
    for (let n = 0; n < 5; n++) made.unshift((await create({ name: `n${n}` }, token)).body.project_id)
    const seen: string[] = []
    let next: string | null = '/v1/projects?limit=2'
    let pages = 0
    while (next !== null) {
      const reply: Awaited<ReturnType<typeof app.request<Project[]>>> = await app.request<Project[]>('GET', next, {
        token,
      })
      seen.push(...reply.body.map((project) => project.project_id))
      next = /^<([^>]+)>; rel="next"$/.exec(reply.headers.get('link') ?? '')?.[1] ?? null
      pages++
    }
    expect(seen).toEqual(made)
    expect(pages).toBe(3)
  })
})
