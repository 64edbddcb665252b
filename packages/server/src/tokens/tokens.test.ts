import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { isWellFormedToken, type MintedToken, type Project, type Token } from '@svc/contract'
import { sql } from 'kysely'
import { insertMember } from '../accounts/store.ts'
import { sha256 } from '../auth/credentials.ts'
import { revokeCredentials } from '../sessions/lifecycle/end-generation.ts'
import { makeSessionApp, type RunningSession, type SessionApp, until } from '../sessions/testing.ts'

let app: SessionApp
let base: string
let session: RunningSession
let bound: string
beforeAll(async () => {
  app = await makeSessionApp()
  base = `/v1/projects/${app.project.project_id}`
  session = await app.running()
  bound = session.env.SVC_CLI_TOKEN!
}, 120_000)
afterAll(() => app.close())

const mintUser = (body: object = { name: 'laptop' }, token?: string) =>
  app.request<MintedToken & { code?: string }>('POST', '/v1/accounts/tokens', { body, ...(token ? { token } : {}) })
const mintProject = (token?: string, body: object = {}) =>
  app.request<MintedToken>('POST', `${base}/cli-token`, { body, ...(token ? { token } : {}) })
const statusOf = async (token: string) => (await app.request('GET', '/v1/token', { token })).status
const listOf = async (path: string, token?: string) =>
  (await app.request<Token[]>('GET', path, token ? { token } : {})).body

describe('user tokens', () => {
  test('shows a token once and stores only its hash', async () => {
    const { status, body } = await mintUser()
    expect(status).toBe(201)
    expect(Object.keys(body).toSorted()).toEqual(
      ['created_at', 'expires_at', 'name', 'project_id', 'secret_key', 'session_id', 'token_id'].toSorted(),
    )
    expect(isWellFormedToken(body.secret_key)).toBeTrue()
    expect(body).toMatchObject({ name: 'laptop', project_id: null, session_id: null, expires_at: null })
    expect(await statusOf(body.secret_key)).toBe(200)
    const listed = await app.request('GET', '/v1/accounts/tokens')
    expect(listed.text).toContain(body.token_id)
    expect(listed.text).not.toContain(body.secret_key)
    const row = await app.deps.db
      .selectFrom('tokens')
      .selectAll()
      .where('token_id', '=', body.token_id)
      .executeTakeFirstOrThrow()
    expect(row.sha256).toEqual(sha256(body.secret_key))
    expect(JSON.stringify(row)).not.toContain(body.secret_key)
  })

  test('refuses a revoked token from the next request on, and removes it from the list', async () => {
    const { body } = await mintUser()
    expect((await app.request('DELETE', `/v1/accounts/tokens/${body.token_id}`)).body).toEqual({ ok: true })
    expect(await statusOf(body.secret_key)).toBe(401)
    expect((await listOf('/v1/accounts/tokens')).map((token) => token.token_id)).not.toContain(body.token_id)
    expect((await app.request('DELETE', `/v1/accounts/tokens/${body.token_id}`)).status).toBe(404)
  })

  test('a token can revoke itself by the id that it reads', async () => {
    const { body } = await mintUser()
    const who = await app.request('GET', '/v1/token', { token: body.secret_key })
    expect(who.body.token_id).toBe(body.token_id)
    const path = `/v1/accounts/tokens/${body.token_id}`
    expect((await app.request('DELETE', path, { token: body.secret_key })).status).toBe(200)
    expect((await app.request('DELETE', path, { token: body.secret_key })).status).toBe(401)
  })

  test('shows when the token was last used', async () => {
    const { body } = await mintUser()
    const lastUsed = async () =>
      (await listOf('/v1/accounts/tokens')).find((token) => token.token_id === body.token_id)!.last_used_at
    expect(await lastUsed()).toBeNull()
    await statusOf(body.secret_key)
    await until('the first use is noted', async () => (await lastUsed()) !== null)
    const before = new Date(Date.now() - 61_000)
    await app.deps.db
      .updateTable('tokens')
      .set({ last_used_at: before })
      .where('token_id', '=', body.token_id)
      .execute()
    await statusOf(body.secret_key)
    await until('a later use is noted', async () => Date.parse((await lastUsed())!) > before.getTime())
  })

  test('hides tokens of other users', async () => {
    const { token } = await app.makeUser('owner')
    const { body } = await mintUser()
    expect((await app.request('DELETE', `/v1/accounts/tokens/${body.token_id}`, { token })).status).toBe(404)
    expect(await statusOf(body.secret_key)).toBe(200)
    expect((await listOf('/v1/accounts/tokens', token)).map((each) => each.token_id)).not.toContain(body.token_id)
  })

  test('expires at its time, and cannot be created expired', async () => {
    const soon = new Date(Date.now() + 60_000).toISOString()
    const { body } = await mintUser({ name: 'short', expires_at: soon })
    expect(body.expires_at).toBe(soon)
    expect(await statusOf(body.secret_key)).toBe(200)
    await app.deps.db
      .updateTable('tokens')
      .set({ expires_at: new Date(Date.now() - 1) })
      .where('token_id', '=', body.token_id)
      .execute()
    expect(await statusOf(body.secret_key)).toBe(401)
    for (const expires_at of [new Date(0).toISOString(), 'tomorrow', '', 7]) {
      const { status, body: refusal } = await mintUser({ name: 'x', expires_at })
      expect([status, refusal]).toMatchObject([400, { code: 'invalid', issues: [{ path: 'expires_at' }] }])
    }
  })

  test('accepts an expiry with any offset, up to the year 9999', async () => {
    const made = await mintUser({ name: 'far', expires_at: '2999-07-24T14:33:43+23:30' })
    expect([made.status, made.body.expires_at]).toEqual([201, '2999-07-23T15:03:43.000Z'])
    const beyond = await mintUser({ name: 'far', expires_at: '9999-12-31T23:59:59-23:59' })
    expect([beyond.status, beyond.body.code]).toEqual([400, 'invalid'])
  })

  test('revoking a token ends concurrent requests with it', async () => {
    const { body } = await mintUser()
    const asking = Array.from({ length: 30 }, () => statusOf(body.secret_key))
    const revoked = app.request('DELETE', `/v1/accounts/tokens/${body.token_id}`)
    for (const status of await Promise.all(asking)) expect([200, 401]).toContain(status)
    await revoked
    expect(await Promise.all(Array.from({ length: 10 }, () => statusOf(body.secret_key)))).toEqual(
      Array.from({ length: 10 }, () => 401),
    )
  })
})

describe('project tokens', () => {
  test("a user's project token is bound to no session", async () => {
    const { body } = await mintProject()
    expect(body).toMatchObject({ name: 'cli', project_id: app.project.project_id, session_id: null })
    const { body: who } = await app.request('GET', '/v1/token', { token: body.secret_key })
    expect(who).toMatchObject({
      kind: 'project',
      user: { user_id: app.owner.user_id },
      account: { account_id: app.owner.account_id },
      project_id: app.project.project_id,
      session_id: null,
    })
  })

  test('belongs to the account of its project when the user has several accounts', async () => {
    const { user_id, token: own } = await app.makeUser('owner', 'own')
    const { body: theirs } = await app.request<Project>('POST', '/v1/projects', {
      token: own,
      body: { name: 'theirs' },
    })
    await insertMember(app.deps.db, { account_id: app.owner.account_id, user_id, role: 'member' })
    expect(theirs.account_id).not.toBe(app.project.account_id)
    for (const { project_id, account_id } of [app.project, theirs]) {
      const token = await app.makeToken({ user_id, project_id })
      const { body } = await app.request('GET', '/v1/token', { token })
      expect(body).toMatchObject({ user: { user_id }, account: { account_id } })
    }
  })

  test('mints a token like itself', async () => {
    const first = (await mintProject()).body.secret_key
    expect((await mintProject(first)).body.session_id).toBeNull()
  })

  test('has at most the current role of its user', async () => {
    const { user_id, token } = await app.makeUser('member')
    const { secret_key } = (await mintProject(token)).body
    const write = () => app.request('POST', `${base}/secrets`, { token: secret_key, body: { name: 'A', value: 'a' } })
    expect((await write()).status).toBe(200)
    const become = (role: 'viewer' | 'admin') =>
      app.deps.db.updateTable('account_members').set({ role }).where('user_id', '=', user_id).execute()
    await become('viewer')
    expect((await write()).status).toBe(403)
    expect((await app.request('GET', base, { token: secret_key })).status).toBe(200)
    await become('admin')
    // Never more than a project token: settings require a user token.
    expect((await app.request('PATCH', base, { token: secret_key, body: { name: 'x' } })).status).toBe(403)
    await app.deps.db.deleteFrom('account_members').where('user_id', '=', user_id).execute()
    expect((await app.request('GET', base, { token: secret_key })).status).toBe(403)
  })

  test('a viewer cannot mint one', async () => {
    const { token } = await app.makeUser('viewer')
    expect((await mintProject(token)).status).toBe(403)
  })
})

describe('tokens bound to a session', () => {
  test('mints only bound tokens, however often', async () => {
    let token = bound
    for (let round = 0; round < 4; round++) {
      const { body } = await mintProject(token, { name: 'laundered', expires_at: null })
      expect(body.session_id).toBe(session.session_id)
      token = body.secret_key
    }
    expect((await app.request('GET', '/v1/token', { token })).body).toMatchObject({ session_id: session.session_id })
    // Tokens minted by a sandbox end with it.
    const rows = await app.deps.db
      .selectFrom('tokens')
      .select('generation')
      .where('session_id', '=', session.session_id)
      .execute()
    expect(rows.map((row) => row.generation)).toEqual(rows.map(() => session.sandbox!.generation))
  })

  test.each([
    ['session_id', { session_id: null }],
    ['project_id', { project_id: null }],
    ['both, and a generation', { session_id: null, project_id: null, generation: 99, bound: false }],
  ])('is not loosened by %s in the body', async (_, body) => {
    expect((await mintProject(bound, body)).body.session_id).toBe(session.session_id)
  })

  test('reaches no account route and creates no project', async () => {
    for (const [method, path] of [
      ['POST', '/v1/accounts/tokens'],
      ['POST', '/v1/accounts/owner-links'],
      ['GET', '/v1/accounts/me'],
      ['POST', '/v1/projects'],
      ['PATCH', base],
      ['DELETE', base],
    ] as const)
      expect([path, (await app.request(method, path, { token: bound, body: { name: 'x' } })).status]).toEqual([
        path,
        403,
      ])
  })

  test('lists and revokes only tokens of its own session', async () => {
    const unbound = (await mintProject()).body
    const other = await app.running()
    const listed = await listOf(`${base}/cli-token`, bound)
    expect(listed.length).toBeGreaterThan(0)
    expect(new Set(listed.map((token) => token.session_id))).toEqual(new Set([session.session_id]))
    const revoke = (id: string) => app.request('DELETE', `${base}/cli-token/${id}`, { token: bound })
    expect((await revoke(unbound.token_id)).status).toBe(404)
    const [theirs] = await listOf(`${base}/cli-token`, other.env.SVC_CLI_TOKEN!)
    expect((await revoke(theirs!.token_id)).status).toBe(404)
    expect(await statusOf(unbound.secret_key)).toBe(200)
    const own = (await mintProject(bound)).body
    expect((await revoke(own.token_id)).status).toBe(200)
    expect(await statusOf(own.secret_key)).toBe(401)
  })

  test('ends with its session, together with all tokens that it minted', async () => {
    const doomed = await app.running()
    const child = (await mintProject(doomed.env.SVC_CLI_TOKEN!)).body.secret_key
    const grandchild = (await mintProject(child)).body.secret_key
    await app.request('POST', app.path(doomed.session_id, 'stop'))
    for (const token of [doomed.env.SVC_CLI_TOKEN!, child, grandchild]) expect(await statusOf(token)).toBe(401)
    const second = await app.running()
    const orphan = (await mintProject(second.env.SVC_CLI_TOKEN!)).body.secret_key
    await app.request('DELETE', app.path(second.session_id))
    expect(await statusOf(orphan)).toBe(401)
  })

  test.each([
    ['another token', 'POST', 'cli-token', 'SVC_CLI_TOKEN'],
    ['a git credential', 'GET', 'git/clone-credential', 'SVC_TOKEN'],
  ] as const)('refuses %s while the session is stopped', async (_, method, path, key) => {
    const doomed = await app.running()
    const asked: ReturnType<typeof app.request>[] = []
    await app.deps.db.transaction().execute(async (trx) => {
      await revokeCredentials(trx, doomed.session_id, new Date())
      // Authenticated before the stop commits, then blocked by the stop's lock.
      asked.push(app.request(method, `${base}/${path}`, { token: doomed.env[key]! }))
      await until('the request waits for the stop', async () => {
        const { rows } = await sql`select 1 from pg_stat_activity
          where datname = current_database() and wait_event_type = 'Lock'`.execute(app.deps.db)
        return rows.length > 0
      })
    })
    expect((await asked[0])?.status).toBe(401)
    const living = await app.deps.db
      .selectFrom('tokens')
      .select('token_id')
      .where('session_id', '=', doomed.session_id)
      .where('revoked_at', 'is', null)
      .execute()
    expect(living).toEqual([])
  })
})

describe('the Authorization header', () => {
  const ask = (authorization: string) =>
    app.request<{ code: string; hint?: string }>('GET', '/v1/token', { token: null, headers: { authorization } })

  test('accepts Bearer and one token, with nothing else', async () => {
    const token = app.ownerToken
    for (const scheme of ['Bearer', 'bearer', 'BEARER']) expect((await ask(`${scheme} ${token}`)).status).toBe(200)
    for (const said of [
      token,
      `Basic Bearer ${token}`,
      `xBearer ${token}`,
      `Bearer ${token} x`,
      `Bearer ${token}, Bearer ${token}`,
      `Bearer ${token}\t`.repeat(2),
      `Bearer "${token}"`,
      `Bearer ${token}${'x'.repeat(500)}`,
    ])
      expect([said, (await ask(said)).status]).toEqual([said, 401])
  })

  test('says which token to use instead of the service key of a sandbox', async () => {
    const { status, body } = await ask(`Bearer ${session.env.SVC_TOKEN}`)
    expect([status, body.hint]).toEqual([401, 'Use SVC_CLI_TOKEN.'])
  })
})

test('lists each token once, newest first, in pages by the Link header', async () => {
  const { token } = await app.makeUser('member')
  const made: string[] = []
  for (let n = 0; n < 7; n++) made.unshift((await mintUser({ name: `n${n}` }, token)).body.token_id)
  const seen: string[] = []
  let next: string | null = '/v1/accounts/tokens?limit=3'
  for (let pages = 0; next !== null; pages++) {
    expect(pages).toBeLessThan(4)
    const reply: Awaited<ReturnType<typeof app.request<Token[]>>> = await app.request<Token[]>('GET', next, { token })
    seen.push(...reply.body.map((each) => each.token_id))
    next = /^<([^>]+)>; rel="next"$/.exec(reply.headers.get('link') ?? '')?.[1] ?? null
  }
  // The last is the minting token, which is older than the others.
  expect(seen.slice(0, 7)).toEqual(made)
  expect(seen).toHaveLength(8)
})
