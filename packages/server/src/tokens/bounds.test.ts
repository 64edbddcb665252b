/** Token laundering: every route that mints a credential with every kind of token, and the end of each minting token. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { MintedToken } from '@svc/contract'
import { sha256 } from '../auth/credentials.ts'
import { startDashboardSession } from '../auth/dashboard-session.ts'
import { insertToken, makeSessionApp, type RunningSession, type SessionApp } from '../sessions/testing.ts'

let app: SessionApp
let base: string
let session: RunningSession
beforeAll(async () => {
  app = await makeSessionApp()
  base = `/v1/projects/${app.project.project_id}`
  session = await app.running()
}, 120_000)
afterAll(() => app.close())

type Minted = MintedToken & { expires_at_max?: string }
const hour = 3_600_000
const ends = () => new Date(Math.floor(Date.now() / 1000) * 1000 + hour)
const later = (end: Date) => new Date(end.getTime() + 1).toISOString()
const mint = (path: string, token: string, body: object = {}) =>
  app.request<Minted>('POST', path, { token, body: { name: 'minted', ...body } })
const statusOf = async (token: string) => (await app.request('GET', '/v1/token', { token })).status
async function revoke(path: string, id: string): Promise<number> {
  return (await app.request('DELETE', `${path}/${id}`)).status
}
const userTokens = '/v1/accounts/tokens'
const projectTokens = () => `${base}/cli-token`
const pathOf = { 'a user token': () => userTokens, 'a project token': projectTokens }

type Kind = 'user' | 'unbound' | 'bound'
const minters: Record<Kind, (end: Date) => Promise<string>> = {
  user: (expires_at) => insertToken(app, { expires_at }),
  unbound: (expires_at) => insertToken(app, { expires_at, project_id: app.project.project_id }),
  bound: (expires_at) =>
    insertToken(app, {
      expires_at,
      project_id: app.project.project_id,
      session_id: session.session_id,
      generation: session.sandbox!.generation,
    }),
}

describe.each([
  ['user', 'a user token'],
  ['user', 'a project token'],
  ['unbound', 'a project token'],
  ['bound', 'a project token'],
] as const)('an expiring %s token that mints %s', (kind, minted) => {
  const path = () => pathOf[minted]()

  test('mints a token that expires with it, or earlier', async () => {
    const end = ends()
    const token = await minters[kind](end)
    expect((await mint(path(), token)).body.expires_at).toBe(end.toISOString())
    const earlier = new Date(end.getTime() - 1000).toISOString()
    expect((await mint(path(), token, { expires_at: earlier })).body.expires_at).toBe(earlier)
  })

  test('mints no token that expires later or never, and reads the latest expiry', async () => {
    const end = ends()
    const token = await minters[kind](end)
    for (const expires_at of [later(end), '2999-01-01T00:00:00Z', null]) {
      const refused = await mint(path(), token, { expires_at })
      expect([refused.status, refused.body.expires_at_max]).toEqual([400, end.toISOString()])
      expect(refused.text).not.toContain('secret_key')
    }
  })

  test('cannot extend its expiry through a chain of tokens', async () => {
    const end = ends()
    let token = await minters[kind](end)
    for (let link = 0; link < 4; link++) {
      const minted = await mint(path(), token)
      expect(minted.body.expires_at).toBe(end.toISOString())
      token = minted.body.secret_key
      expect((await mint(path(), token, { expires_at: later(end) })).status).toBe(400)
    }
  })
})

describe('a minted token has no more access than its minter', () => {
  test.each(['unbound', 'bound'] as const)('a project token (%s) mints no user token', async (kind) => {
    expect((await mint(userTokens, await minters[kind](ends()))).status).toBe(403)
  })

  test('a bound token mints tokens bound to its session and generation', async () => {
    const { body } = await mint(projectTokens(), await minters.bound(ends()), { session_id: null, project_id: null })
    expect(body.session_id).toBe(session.session_id)
    expect((await mint(userTokens, body.secret_key)).status).toBe(403)
  })

  test('an unbound token mints only for its own project', async () => {
    const other = await app.managedProject()
    const token = await minters.unbound(ends())
    expect((await mint(`/v1/projects/${other.project.project_id}/cli-token`, token)).status).toBe(403)
  })
})

describe('revoking a token', () => {
  test('revokes every token that it minted, at any depth and of any kind, and no other', async () => {
    const root = (await mint(userTokens, app.ownerToken)).body
    const sibling = (await mint(userTokens, app.ownerToken)).body
    const child = (await mint(userTokens, root.secret_key)).body
    const ofProject = (await mint(projectTokens(), child.secret_key)).body
    const deepest = (await mint(projectTokens(), ofProject.secret_key)).body
    expect(await revoke(userTokens, root.token_id)).toBe(200)
    for (const token of [root, child, ofProject, deepest]) expect(await statusOf(token.secret_key)).toBe(401)
    expect(await statusOf(sibling.secret_key)).toBe(200)
  })

  test('revokes a token that is minting concurrently, and no minted token survives', async () => {
    for (let round = 0; round < 8; round++) {
      const root = (await mint(userTokens, app.ownerToken)).body
      const children = Array.from({ length: 6 }, async () => {
        const child = await mint(userTokens, root.secret_key)
        const grandchild = child.status === 201 ? await mint(userTokens, child.body.secret_key) : child
        return [child, grandchild]
      })
      await revoke(userTokens, root.token_id)
      for (const made of (await Promise.all(children)).flat())
        if (made.status === 201) expect(await statusOf(made.body.secret_key)).toBe(401)
    }
  })
})

describe('browser credentials of a token', () => {
  /** The preview cookie as its row; sessions/edge/preview.test.ts tests the route. */
  test.each([
    ['expires', (tokenId: string) => ({ tokenId, set: { expires_at: new Date(Date.now() - 1) } })],
    ['is revoked', (tokenId: string) => ({ tokenId, set: { revoked_at: new Date() } })],
  ])('the preview cookie of a token ends when the token %s', async (_, end) => {
    const { findGrant, grant } = await import('../sandboxes/grant-store.ts')
    const minted = (await mint(projectTokens(), app.ownerToken)).body
    const asked = await app.request('GET', `${app.path(session.session_id, 'preview')}?port=3000`, {
      token: minted.secret_key,
    })
    expect(asked.status).toBe(200)
    // Exchanges the ticket for its cookie.
    const [row] = await app.deps.db
      .updateTable('preview_grants')
      .set({ is_ticket: false })
      .where('token_id', '=', minted.token_id)
      .returningAll()
      .execute()
    const ofApp = { project_id: app.project.project_id, slug: `app-${minted.token_id.slice(0, 8)}` }
    const definition = JSON.stringify({ slug: ofApp.slug })
    await app.deps.db
      .insertInto('apps')
      .values({
        ...ofApp,
        position: 0,
        definition,
        enabled: true,
        host: ofApp.slug,
        hash: null,
        commit_sha: null,
        live_deploy_id: null,
      })
      .execute()
    const by = { userId: app.owner.user_id, tokenId: minted.token_id, isTicket: false, ms: 60_000 }
    const appCookie = await grant(app.deps, 'app_grants', ofApp, by)
    const ofPreview = { session_id: session.session_id, port: 3000 }
    const seen = async () => [
      (await findGrant(app.deps.db, 'preview_grants', row!.sha256, ofPreview)) !== null,
      (await findGrant(app.deps.db, 'app_grants', sha256(appCookie), ofApp)) !== null,
    ]
    expect(await seen()).toEqual([true, true])
    const { tokenId, set } = end(minted.token_id)
    await app.deps.db.updateTable('tokens').set(set).where('token_id', '=', tokenId).execute()
    expect(await seen()).toEqual([false, false])
  })
})

describe('sign-ins and roles by a token', () => {
  test.each(['user', 'unbound', 'bound'] as const)(
    'a token of kind %s gets no sign-in from the service',
    async (kind) => {
      const token = await minters[kind](ends())
      const body = { email: 'new@example.test', password: 'a password of mine', challenge: 'c'.repeat(43), name: 'x' }
      for (const path of ['owner-links', 'password', 'cli-logins', 'confirm'])
        expect([path, (await app.request('POST', `/v1/accounts/${path}`, { token, body })).status]).toEqual([path, 403])
    },
  )

  test('an expiring token cannot raise a role, link a chat user, or get an invitation link', async () => {
    const token = await minters.user(ends())
    const viewer = await app.makeUser('viewer')
    const members = `/v1/accounts/${app.owner.account_id}/members`
    const raised = await app.request('PATCH', `${members}/${viewer.user_id}`, { token, body: { role: 'owner' } })
    expect(raised.status).toBe(403)
    const body = { email: 'invited@example.test', role: 'owner' }
    const added = await app.request<{ sign_in: unknown; invitation_id: string }>('POST', members, {
      token,
      body,
    })
    expect([added.status, added.body.sign_in]).toEqual([201, null])
    const link = `/v1/accounts/${app.owner.account_id}/invitations/${added.body.invitation_id}/link`
    expect((await app.request('POST', link, { token })).status).toBe(403)
    expect((await app.request('POST', '/v1/channel-links', { token, body: { code: 'x'.repeat(24) } })).status).toBe(403)
  })
})

test('a browser mints a token with any expiry', async () => {
  const cookie = (await startDashboardSession(app.deps, app.owner.user_id)).split(';')[0]!
  const headers = { cookie, origin: app.deps.config.publicUrl }
  const made = await app.request<Minted>('POST', userTokens, { token: null, headers, body: { name: 'x' } })
  expect([made.status, made.body.expires_at]).toEqual([201, null])
})
