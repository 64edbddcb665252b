/** A slug works wherever a project id does, and does not reveal the project to other users. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { randomUUID } from 'node:crypto'
import { type ErrorBody, mcpProjectHeader, type Project } from '@svc/contract'
import { routes } from '@svc/contract/openapi'
import { makeTestApp, type TestApp, type TestRequest } from '../testing.ts'

let app: TestApp
let mine: Project
let other: Project
let theirs: Project
let stranger: { user_id: string; token: string }
beforeAll(async () => {
  app = await makeTestApp()
  mine = await made('mine')
  other = await made('other')
  stranger = await app.makeUser('owner', 'own')
  theirs = await made('theirs', { token: stranger.token })
}, 120_000)
afterAll(() => app.close())

async function made(name: string, options: TestRequest = {}): Promise<Project> {
  // A member of several accounts creates it in their own.
  const account = options.token === undefined ? app.owner.account_id : await accountOf(options.token!)
  const { status, body } = await app.request<Project>('POST', '/v1/projects', {
    ...options,
    body: { name, account_id: account },
  })
  expect(status).toBe(201)
  return body
}

async function accountOf(token: string): Promise<string> {
  const { body } = await app.request<{ accounts: { account_id: string; role: string }[] }>('GET', '/v1/accounts', {
    token,
  })
  return body.accounts.find(({ role }) => role === 'owner')!.account_id
}

/** A response without the parts that vary per request. */
async function answer(method: string, path: string, options: TestRequest = {}) {
  const { status, body, headers } = await app.request<Partial<ErrorBody>>(method, path, options)
  const link = headers.get('link')
  return { status, link, body }
}

const reads = routes.filter(
  (route) =>
    route.method === 'GET' &&
    route.path.startsWith('/v1/projects/:projectId') &&
    route.access.startsWith('project-') &&
    // The time of deletion varies.
    route.deleted === null &&
    !route.stream,
)

describe('reading a project by its slug', () => {
  test('this test covers every read of a project', () => expect(reads.length).toBeGreaterThan(30))

  test.each(reads.map((route) => [route.name, route] as const))(
    '%s returns the same by slug and by id',
    async (_, route) => {
      const missing = randomUUID()
      const at = (project: string) =>
        route.path.replace(':projectId', project).replaceAll(/:\w+/g, (name) => (name === ':slug' ? 'none' : missing))
      const byId = await answer('GET', at(mine.project_id))
      expect(await answer('GET', at(mine.slug))).toEqual(byId)
      expect((await answer('GET', at(theirs.slug))).status).toBe(404)
    },
  )
})

describe('project slugs', () => {
  test('edits a project by its slug, and other writes answer as by its id', async () => {
    const { body } = await app.request<Project>('PATCH', `/v1/projects/${mine.slug}`, { body: { name: 'Mine' } })
    expect([body.project_id, body.name]).toEqual([mine.project_id, 'Mine'])
    const key = { headers: { 'idempotency-key': randomUUID() }, body: { title: 'x', head_ref: 'none' } }
    const refused = await answer('POST', `/v1/projects/${mine.slug}/change-requests`, key)
    expect(refused).toEqual(await answer('POST', `/v1/projects/${mine.project_id}/change-requests`, key))
  })

  test('answers alike for a slug of another account and an unknown one', async () => {
    const nobody = await answer('GET', '/v1/projects/nobody')
    expect(nobody.status).toBe(404)
    expect(await answer('GET', `/v1/projects/${theirs.slug}`)).toEqual(nobody)
    expect(await answer('DELETE', `/v1/projects/${theirs.slug}`)).toEqual(nobody)
    for (const odd of ['%00', '%27', 'MINE', 'mine%2F', 'mine%20', '-', 'x'.repeat(200), '%F0%9F%98%80'])
      expect((await answer('GET', `/v1/projects/${odd}`)).status).toBe(404)
  })

  test('refuses a slug that several accounts of the caller have, with all ids', async () => {
    const both = { user_id: stranger.user_id, account_id: app.owner.account_id, role: 'member' as const }
    await app.deps.db.insertInto('account_members').values(both).execute()
    const theirOwn = await made('shared', { token: stranger.token })
    const inOurs = await made('shared')
    expect(theirOwn.account_id).not.toBe(inOurs.account_id)
    const { status, body } = await answer('GET', '/v1/projects/shared', { token: stranger.token })
    expect([status, body.code]).toEqual([409, 'conflict'])
    const ids = (body as { project_ids: string[] }).project_ids
    expect(ids.toSorted()).toEqual([theirOwn.project_id, inOurs.project_id].toSorted())
    // The owner of one of them sees only that one.
    expect((await app.request<Project>('GET', '/v1/projects/shared')).body.project_id).toBe(inOurs.project_id)
    const audit = await app.request<{ project_id: string }[]>(
      'GET',
      `/v1/accounts/${app.owner.account_id}/audit?project_id=shared`,
    )
    expect(audit.body.map(({ project_id }) => project_id)).toEqual([inOurs.project_id])
  })

  test('a project token can name only the slug of its own project', async () => {
    const bound = (await app.makeSession(mine)).token
    const plain = await app.makeToken({ project_id: mine.project_id })
    for (const token of [bound, plain]) {
      const own = await app.request<Project>('GET', `/v1/projects/${mine.slug}`, { token })
      expect([own.status, own.body.project_id]).toEqual([200, mine.project_id])
      const nobody = await answer('GET', '/v1/projects/nobody', { token })
      expect(nobody.status).toBe(403)
      expect(await answer('GET', `/v1/projects/${other.slug}`, { token })).toEqual(nobody)
      expect(await answer('GET', `/v1/projects/${theirs.slug}`, { token })).toEqual(nobody)
      const unknownRoute = await answer('GET', '/v1/projects/nobody/nothing', { token })
      expect(await answer('GET', `/v1/projects/${other.slug}/nothing`, { token })).toEqual(unknownRoute)
    }
  })

  test('a project token of a user who left is refused alike by slug and by id', async () => {
    const member = await app.makeUser('member')
    const token = await app.makeToken({ project_id: mine.project_id, user_id: member.user_id })
    await app.request('DELETE', `/v1/accounts/${app.owner.account_id}/members/${member.user_id}`)
    const byId = await answer('GET', `/v1/projects/${mine.project_id}`, { token })
    expect([byId.status, byId.body.error]).toEqual([403, expect.stringContaining('not a member')])
    expect(await answer('GET', `/v1/projects/${mine.slug}`, { token })).toEqual(byId)
    expect((await answer('GET', `/v1/projects/${other.slug}`, { token })).body.error).toContain('another project')
  })

  test('a slug never looks like an id', async () => {
    const { body } = await app.request<Project>('POST', '/v1/projects', { body: { name: mine.project_id } })
    expect(body.slug).toBe(`project-${mine.project_id}`)
    expect((await app.request<Project>('GET', `/v1/projects/${mine.project_id}`)).body.slug).toBe('mine')
    expect((await app.request<Project>('GET', `/v1/projects/${body.slug}`)).body.project_id).toBe(body.project_id)
  })

  test('git, MCP and the audit log of the account accept slugs', async () => {
    const git = (slug: string) =>
      app.request('GET', `/v1/projects/${slug}/git/info/refs?service=git-upload-pack`, {
        token: null,
        headers: { authorization: `Basic ${btoa(`x-access-token:${app.ownerToken}`)}` },
      })
    expect((await git(mine.slug)).status).toBe(200)
    expect((await git(theirs.slug)).status).toBe(404)
    const mcp = (slug: string) =>
      app.request('POST', '/v1/mcp', {
        headers: { [mcpProjectHeader]: slug, accept: 'application/json, text/event-stream' },
        body: { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} },
      })
    expect((await mcp(mine.slug)).status).toBe(200)
    expect((await mcp(theirs.slug)).status).toBe(404)
    const audit = (slug: string) =>
      app.request<{ project_id: string }[]>('GET', `/v1/accounts/${app.owner.account_id}/audit?project_id=${slug}`)
    const rows = (await audit(mine.slug)).body
    expect(rows.length).toBeGreaterThan(0)
    expect(rows.every(({ project_id }) => project_id === mine.project_id)).toBeTrue()
    expect((await audit(theirs.slug)).status).toBe(404)
  })
})
