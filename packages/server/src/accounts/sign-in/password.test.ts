import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { randomUUID } from 'node:crypto'
import type { DashboardSession } from '@svc/contract'
import { startDashboardSession } from '../../auth/dashboard-session.ts'
import { until } from '../../sessions/testing.ts'
import { makeTestApp, type TestApp } from '../../testing.ts'

let app: TestApp
beforeAll(async () => {
  app = await makeTestApp()
}, 120_000)
afterAll(() => app.close())

const ourPage = () => ({ origin: app.deps.config.publicUrl })
const right = 'correct horse battery'
type Headers = Record<string, string>

async function browserOf(userId: string, began_by: 'link' | 'password' = 'link'): Promise<Headers> {
  const browser = { began_by, address: null, user_agent: null }
  return { cookie: (await startDashboardSession(app.deps, userId, browser)).split(';')[0]!, ...ourPage() }
}
const set = (headers: Headers, body: object) =>
  app.request<{ code?: string }>('POST', '/v1/accounts/password', { token: null, headers, body })
const signIn = (email: string, password: string, headers: Headers = ourPage()) =>
  app.request<{ error?: string }>('POST', '/v1/sign-in/password', { token: null, body: { email, password }, headers })
const mine = (headers: Headers) =>
  app.request<DashboardSession[]>('GET', '/v1/accounts/dashboard-sessions', { token: null, headers })

/** A member with a password and their email address. */
async function member() {
  const { user_id, token } = await app.makeUser('member')
  const email = `${randomUUID()}@example.test`
  expect((await set(await browserOf(user_id), { email, password: right })).status).toBe(200)
  return { user_id, token, email }
}

describe('passwords', () => {
  test('a password set after an owner link signs its user in, whatever the case of the address', async () => {
    const { user_id, email } = await member()
    const reply = await signIn(` ${email.toUpperCase()} `, right)
    expect([reply.status, reply.text]).toEqual([200, '{"ok":true}'])
    const cookie = reply.headers.get('set-cookie')!
    expect(cookie).toContain('HttpOnly')
    const me = await app.request<{ user: object }>('GET', '/v1/accounts/me', {
      token: null,
      headers: { cookie: cookie.split(';')[0]! },
    })
    expect(me.body.user).toMatchObject({ user_id, email })
  })

  test('stores a password as argon2id and returns it in no reply', async () => {
    const { user_id, email } = await member()
    const rows = await app.deps.db.selectFrom('user_passwords').selectAll().where('user_id', '=', user_id).execute()
    expect(rows[0]!.hash).toStartWith('$argon2id$v=19$m=19456,t=2,p=1$')
    expect(JSON.stringify(rows)).not.toContain(right)
    const headers = await browserOf(user_id)
    const answer = await app.request('GET', '/v1/accounts/password', { token: null, headers })
    expect(answer.body).toEqual({ email, is_set: true })
  })

  test('refuses a wrong password, an unknown address and a user without a password with the same message', async () => {
    const { email } = await member()
    const noPassword = `${randomUUID()}@example.test`
    const { user_id } = await app.makeUser('member')
    await app.deps.db.updateTable('users').set({ email: noPassword }).where('user_id', '=', user_id).execute()
    const replies = [
      await signIn(email, 'wrong horse battery'),
      await signIn(`${randomUUID()}@example.test`, right),
      await signIn(noPassword, right),
    ]
    expect(replies.map((reply) => reply.status)).toEqual([401, 401, 401])
    expect(new Set(replies.map((reply) => reply.text)).size).toBe(1)
    for (const reply of replies) expect(reply.headers.has('set-cookie')).toBeFalse()
  })

  test('refuses a sign-in from a page of another site', async () => {
    const { email } = await member()
    for (const headers of [
      {},
      { origin: 'http://evil.test' },
      { origin: 'null' },
      { ...ourPage(), 'sec-fetch-site': 'cross-site' },
    ] as Headers[])
      expect((await signIn(email, right, headers)).status).toBe(403)
  })

  test('only a browser can set a password, not a token', async () => {
    const { token, user_id } = await app.makeUser('member')
    const body = { email: 'token@example.test', password: right }
    expect((await app.request('POST', '/v1/accounts/password', { token, body })).status).toBe(403)
    const bad = await set(await browserOf(user_id), { email: 'no address', password: 'short' })
    expect([bad.status, bad.text]).toEqual([400, expect.stringContaining('10 characters')])
  })

  test('asks for the current password before a new one, except soon after an owner link', async () => {
    const { user_id, email } = await member()
    const another = { email, password: 'another horse battery' }
    const signedIn = await browserOf(user_id, 'password')
    expect((await set(signedIn, another)).status).toBe(400)
    expect((await set(signedIn, { ...another, current_password: 'wrong horse' })).status).toBe(401)
    expect((await set(signedIn, { ...another, current_password: right })).status).toBe(200)
    const oldLink = await browserOf(user_id)
    await app.deps.db
      .updateTable('dashboard_sessions')
      .set({ confirmed_at: new Date(Date.now() - 11 * 60_000) })
      .where('user_id', '=', user_id)
      .execute()
    expect((await set(oldLink, another)).status).toBe(400)
    expect((await set(await browserOf(user_id), { email, password: right })).status).toBe(200)
    expect((await signIn(email, 'another horse battery')).status).toBe(401)
  })

  test('refuses the address of another user', async () => {
    const one = await member()
    const { user_id } = await app.makeUser('member')
    const reply = await set(await browserOf(user_id), { email: one.email, password: right })
    expect([reply.status, reply.body.code]).toEqual([409, 'conflict'])
  })
})

test('the first owner can change the address that they sign in with, and other members cannot', async () => {
  const { user_id } = await member()
  const reply = await set(await browserOf(user_id), { email: 'boss@example.test', password: right })
  expect(reply.status).toBe(403)
  for (const email of ['first@example.test', 'second@example.test'])
    expect((await set(await browserOf(app.owner.user_id), { email, password: right })).status).toBe(200)
})

describe('the list of sign-ins', () => {
  test('lists each browser, marks the current one, and ends any of them', async () => {
    const { user_id, email } = await member()
    const first = await browserOf(user_id)
    await signIn(email, right, { ...ourPage(), 'user-agent': 'A browser' })
    const { body } = await mine(first)
    expect(body.filter((session) => session.current)).toHaveLength(1)
    const other = body.find((session) => session.user_agent === 'A browser')!
    expect(other).toMatchObject({ began_by: 'password', current: false })
    const path = `/v1/accounts/dashboard-sessions/${other.dashboard_session_id}`
    const stranger = await app.makeUser('member')
    expect((await app.request('DELETE', path, { token: stranger.token })).status).toBe(404)
    expect((await app.request('DELETE', path, { token: null, headers: first })).status).toBe(200)
    expect((await mine(first)).body.map((session) => session.user_agent)).not.toContain('A browser')
  })

  test('records the last use of a sign-in by GET and HEAD requests', async () => {
    const { user_id } = await member()
    const [here, there] = [await browserOf(user_id), await browserOf(user_id)]
    for (const method of ['HEAD', 'GET'])
      expect(
        (await app.request(method, '/v1/accounts/me', { token: null, headers: { cookie: there.cookie! } })).status,
      ).toBe(200)
    const uses = async () => (await mine(here)).body.map(({ last_used_at }) => last_used_at)
    await until('all uses are noted', async () => (await uses()).every((use) => use !== null))
    const before = new Date(Date.now() - 61_000)
    const again = { last_used_at: before }
    await app.deps.db.updateTable('dashboard_sessions').set(again).where('user_id', '=', user_id).execute()
    await until('a later use is noted', async () => (await uses()).some((use) => Date.parse(use!) > before.getTime()))
  })

  test('a new password signs out every other browser', async () => {
    const { user_id, email } = await member()
    const [here, there] = [await browserOf(user_id), await browserOf(user_id, 'password')]
    expect((await set(here, { email, password: 'another horse battery' })).status).toBe(200)
    expect((await mine(there)).status).toBe(401)
    expect((await mine(here)).body).toHaveLength(1)
  })
})
