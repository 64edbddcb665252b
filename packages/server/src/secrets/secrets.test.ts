import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Project, Secret } from '@svc/contract'
import { serveHttpBackend, makeRepo } from '@svc/git/testing'
import { sql } from 'kysely'
import pino from 'pino'
import { makeSessionApp, type SessionApp } from '../sessions/testing.ts'
import { openSecrets } from './change.ts'

interface Listed {
  items: Secret[]
  required: string[]
  optional: string[]
  needed: { name: string; needed_by: { kind: string; slug: string | null }[] }[]
  missing: string[]
  revision: string
}

const logged: string[] = []
let app: SessionApp
let base: string
beforeAll(async () => {
  const log = pino({ level: 'trace' }, { write: (line: string) => void logged.push(line) })
  const manifest = `[env]
required = ["NEEDED", "PRESENT"]
optional = ["NICE"]

[[triggers]]
slug = "on-push"
type = "webhook"
prompt = "Look"
secret_env = "HOOK_SECRET"

[[apps]]
slug = "web"
command = "serve"
env = { KEY = "\${NEEDED}" }

[[connectors]]
slug = "tracker"
type = "mcp"
url = "https://tracker.test/mcp"
auth = { type = "bearer", secret_env = "TRACKER_TOKEN" }
`
  app = await makeSessionApp({ files: { 'svc.toml': manifest }, deps: { log } })
  base = `/v1/projects/${app.project.project_id}`
}, 120_000)
afterAll(() => app.close())

const set = (name: string, value: string, path = base, token?: string) =>
  app.request<Secret & { code: string; error: string }>('POST', `${path}/secrets`, {
    body: { name, value },
    ...(token ? { token } : {}),
  })
const list = async (path = base) => (await app.request<Listed>('GET', `${path}/secrets`)).body
const freshProject = async () => {
  const { body } = await app.request<Project>('POST', '/v1/projects', { body: { name: 'fresh' } })
  return `/v1/projects/${body.project_id}`
}
const row = async (path = base) =>
  app.deps.db
    .selectFrom('projects')
    .selectAll()
    .where('project_id', '=', path.split('/').at(-1)!)
    .executeTakeFirstOrThrow()

describe('setting secrets', () => {
  test('sets and lists a secret by name, and returns its value in no reply', async () => {
    const made = await set('PRESENT', 'canary-listed')
    expect(made.status).toBe(200)
    expect(Object.keys(made.body).toSorted()).toEqual(['created_at', 'created_by', 'name', 'updated_at'])
    expect(made.body).toMatchObject({ name: 'PRESENT', created_by: app.owner.user_id })
    const listed = await app.request<Listed>('GET', `${base}/secrets`)
    expect(listed.body).toMatchObject({
      required: ['NEEDED', 'PRESENT'],
      optional: ['NICE'],
      missing: ['NEEDED', 'HOOK_SECRET', 'TRACKER_TOKEN'],
    })
    expect(listed.body.items.map((item) => item.name)).toContain('PRESENT')
    expect(made.text + listed.text).not.toContain('canary')
  })

  test('names each entry of svc.toml that needs a secret', async () => {
    expect((await list()).needed).toEqual([
      {
        name: 'NEEDED',
        needed_by: [
          { kind: 'env', slug: null },
          { kind: 'app', slug: 'web' },
        ],
      },
      { name: 'PRESENT', needed_by: [{ kind: 'env', slug: null }] },
      { name: 'HOOK_SECRET', needed_by: [{ kind: 'trigger', slug: 'on-push' }] },
      { name: 'TRACKER_TOKEN', needed_by: [{ kind: 'connector', slug: 'tracker' }] },
    ])
  })

  test('setting a secret again keeps its creation time and raises the revision', async () => {
    const path = await freshProject()
    const first = (await set('A', 'one', path)).body
    const before = (await list(path)).revision
    const second = (await set('A', 'two', path)).body
    expect(second.created_at).toBe(first.created_at)
    expect((await list(path)).items).toHaveLength(1)
    expect(Number((await list(path)).revision)).toBe(Number(before) + 1)
    expect(await openSecrets(app.deps, await row(path))).toEqual({ A: 'two' })
  })

  test('a removed secret is gone, and removing it again answers 404', async () => {
    await set('GONE', 'x')
    expect((await app.request('DELETE', `${base}/secrets/GONE`)).body).toEqual({ ok: true })
    expect((await app.request('DELETE', `${base}/secrets/GONE`)).status).toBe(404)
    expect((await list()).items.map((item) => item.name)).not.toContain('GONE')
  })

  test('twenty concurrent writes leave one of their values, and each has its own version', async () => {
    const path = await freshProject()
    const values = Array.from({ length: 20 }, (_, n) => `value ${n}`)
    const replies = await Promise.all(values.map((value) => set('RACE', value, path)))
    expect(replies.map((reply) => reply.status)).toEqual(values.map(() => 200))
    expect(values).toContain((await openSecrets(app.deps, await row(path))).RACE!)
    expect((await list(path)).revision).toBe('20')
  })

  test('accepts any text as a value: empty, several lines, quotes, other scripts', async () => {
    const path = await freshProject()
    const values = { EMPTY: '', LINES: 'a\nb\r\n', QUOTES: `'"\`$(id)\\`, OTHER: 'ключ 🔑 \u0007' }
    for (const [name, value] of Object.entries(values)) expect((await set(name, value, path)).status).toBe(200)
    expect(await openSecrets(app.deps, await row(path))).toEqual(values)
  })
})

describe('refused names and values', () => {
  test.each(['SVC_TOKEN', 'svc_anything', 'Svc_X'])('the name %s is reserved', async (name) => {
    const { status, body } = await set(name, 'x')
    expect([status, body.code]).toEqual([400, 'reserved_name'])
  })

  test.each(['LD_PRELOAD', 'NODE_OPTIONS', 'BASH_ENV', 'PATH', 'GIT_SSH', '', 'A B', '1A', 'Ä', 'A'.repeat(129)])(
    'the name %j is invalid',
    async (name) => {
      const { status, body } = await set(name, 'x')
      expect([status, body.code]).toEqual([400, 'invalid'])
    },
  )

  test('stores nothing of a refused secret', async () => {
    const path = await freshProject()
    await set('SVC_X', 'x', path)
    await set('PATH', 'x', path)
    expect(await list(path)).toMatchObject({ items: [], revision: '0' })
  })

  test('accepts a value of 64 KiB and refuses one more byte', async () => {
    const path = await freshProject()
    expect((await set('A', 'x'.repeat(64 * 1024), path)).status).toBe(200)
    expect((await set('A', 'x'.repeat(64 * 1024 + 1), path)).status).toBe(400)
    expect((await set('A', 'é'.repeat(32 * 1024), path)).status).toBe(200)
    expect((await set('A', 'é'.repeat(32 * 1024) + 'x', path)).status).toBe(400)
  })

  test('limits all values together to 512 KiB, also when they are set concurrently', async () => {
    const path = await freshProject()
    const replies = await Promise.all(
      Array.from({ length: 12 }, (_, n) => set(`BIG_${n}`, 'x'.repeat(64 * 1024), path)),
    )
    expect(replies.filter((reply) => reply.status === 200)).toHaveLength(8)
    expect(replies.filter((reply) => reply.status === 400)).toHaveLength(4)
    // Replacing a secret counts only its new size.
    const [name] = (await list(path)).items.map((item) => item.name)
    expect((await set(name!, 'y'.repeat(64 * 1024), path)).status).toBe(200)
  })
})

describe('access to secrets', () => {
  test('a viewer sees names but sets nothing, and an agent can set secrets', async () => {
    const { token } = await app.makeUser('viewer')
    expect((await app.request('GET', `${base}/secrets`, { token })).status).toBe(200)
    expect((await set('A', 'x', base, token)).status).toBe(403)
    const session = await app.running()
    expect((await set('FROM_AGENT', 'x', base, session.env.SVC_CLI_TOKEN!)).status).toBe(200)
  })
})

describe('values at rest', () => {
  const canary = 'canary:Ünïcode/plus+slash?&=0123456789'
  /** The indirect forms of a value in a dump. */
  const encodings = (value: string): string[] => {
    const bytes = Buffer.from(value)
    return [
      value,
      bytes.toString('hex'),
      bytes.toString('hex').toUpperCase(),
      encodeURIComponent(value),
      JSON.stringify(value).slice(1, -1),
      bytes.toString('utf16le'),
      Buffer.from(value, 'utf16le').toString('hex'),
      [...value].toReversed().join(''),
      // Base64 at each of the three offsets, without the characters shared with neighbors.
      ...[0, 1, 2].flatMap((shift) => {
        const padded = Buffer.concat([Buffer.alloc(shift), bytes])
        return [padded.toString('base64').slice(4, -4), padded.toString('base64url').slice(4, -4)]
      }),
    ]
  }

  async function dump(): Promise<string> {
    const { rows: tables } = await sql<{ name: string }>`
      select table_name as name from information_schema.tables where table_schema = 'public'`.execute(app.deps.db)
    const parts: string[] = []
    for (const { name } of tables) {
      const { rows } = await sql<{ line: string }>`select to_jsonb(t)::text as line from ${sql.table(name)} t`.execute(
        app.deps.db,
      )
      parts.push(...rows.map(({ line }) => line))
    }
    return parts.join('\n')
  }

  test('a dump of the database contains no secret, token, key or credential of a git host', async () => {
    const gitToken = `git-${canary}`
    const repo = await makeRepo({ main: { a: 'a' } })
    const host = await serveHttpBackend(repo.dir, { auth: { username: 'x-access-token', password: gitToken } })
    const external = await app.request<Project>('POST', '/v1/projects', {
      body: { name: 'external', repo_url: host.url, git_token: gitToken },
    })
    expect(external.status).toBe(201)
    const path = `/v1/projects/${external.body.project_id}`
    await set('CANARY', canary, path)
    const session = await app.request<{ session_id: string }>('POST', `${path}/sessions`, { body: {} })
    const own = await app.running()
    const minted = await app.request<{ secret_key: string }>('POST', '/v1/accounts/tokens', { body: { name: 'x' } })
    const text = await dump()
    expect(text).toContain(external.body.project_id)
    expect(session.status).toBe(201)
    const hidden = [canary, gitToken, app.ownerToken, minted.body.secret_key]
    hidden.push(own.env.SVC_TOKEN!, own.env.SVC_CLI_TOKEN!, own.env.SVC_LLM_API_KEY!)
    for (const value of hidden) for (const encoded of encodings(value)) expect(text.includes(encoded)).toBeFalse()
    for (const value of hidden)
      for (const encoded of encodings(value)) expect(logged.join('').includes(encoded)).toBeFalse()
    expect(external.text).not.toContain('canary')
    await host.close()
    await repo.remove()
  })

  test('sealed values that were swapped between rows do not open', async () => {
    const [one, two] = [await freshProject(), await freshProject()]
    await set('A', 'value of a', one)
    await set('B', 'value of b', one)
    await set('A', 'value of the other', two)
    const ids = [one, two].map((path) => path.split('/').at(-1)!)
    const sealed = async (project: string, name: string) =>
      app.deps.db
        .selectFrom('secrets')
        .select(['sealed', 'version'])
        .where('project_id', '=', project)
        .where('name', '=', name)
        .executeTakeFirstOrThrow()
    const put = (project: string, name: string, row: object) =>
      app.deps.db.updateTable('secrets').set(row).where('project_id', '=', project).where('name', '=', name).execute()
    const original = await sealed(ids[0]!, 'A')
    for (const other of [await sealed(ids[0]!, 'B'), await sealed(ids[1]!, 'A')]) {
      await put(ids[0]!, 'A', { sealed: other.sealed })
      await expect(openSecrets(app.deps, await row(one))).rejects.toThrow()
    }
    // An old value under the new version, and the right value under another version.
    await put(ids[0]!, 'A', { ...original, version: original.version + 1 })
    await expect(openSecrets(app.deps, await row(one))).rejects.toThrow()
    await put(ids[0]!, 'A', original)
    expect(await openSecrets(app.deps, await row(one))).toEqual({ A: 'value of a', B: 'value of b' })
    await expect(openSecrets(app.deps, { ...(await row(one)), data_key: (await row(two)).data_key })).rejects.toThrow()
  })
})
