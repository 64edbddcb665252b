import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { randomUUID } from 'node:crypto'
import type { Member, Project } from '@svc/contract'
import { makeTestApp, type TestApp, type TestReply } from '../testing.ts'

let app: TestApp
beforeAll(async () => {
  app = await makeTestApp()
}, 120_000)
afterAll(() => app.close())

interface Added {
  member: Member
  sign_in: { url: string; expires_at: string } | null
}
const path = (rest = '') => `/v1/accounts/${app.owner.account_id}/members${rest}`
const list = async () => (await app.request<Member[]>('GET', path('?limit=1000'))).body
const address = () => `${randomUUID()}@example.test`
const add = (body: object, token?: string) =>
  app.request<Added>('POST', path(), { body, ...(token === undefined ? {} : { token }) })
const setRole = (user: string, role: string, token?: string) =>
  app.request('PATCH', path(`/${user}`), { body: { role }, ...(token === undefined ? {} : { token }) })
const remove = (user: string, token?: string) =>
  app.request('DELETE', path(`/${user}`), token === undefined ? {} : { token })

async function signIn(url: string): Promise<string> {
  const reply = await app.request('POST', '/v1/sign-in', {
    token: null,
    body: { code: url.split('#')[1] },
    headers: { origin: app.deps.config.publicUrl },
  })
  expect(reply.status).toBe(200)
  return reply.headers.get('set-cookie')!.split(';')[0]!
}

describe('a member who is added', () => {
  test('comes in by the link, with the role they were given', async () => {
    const email = address()
    const { status, body } = await add({ email: email.toUpperCase(), role: 'viewer' })
    expect([status, body.member]).toEqual([
      201,
      {
        user_id: expect.any(String) as never,
        name: email.split('@')[0]!,
        email,
        role: 'viewer',
        created_at: expect.any(String) as never,
      },
    ])
    const cookie = await signIn(body.sign_in!.url)
    const me = await app.request('GET', '/v1/accounts/me', { token: null, headers: { cookie } })
    expect(me.body).toMatchObject({ user: { email }, account: { role: 'viewer' } })
    expect(await list()).toContainEqual(body.member)
  })

  test('gets another link while they never came, and none once they have', async () => {
    const email = address()
    const first = (await add({ email })).body
    const second = (await add({ email })).body
    expect(second.member).toEqual(first.member)
    await signIn(second.sign_in!.url)
    const again = await add({ email })
    expect([again.status, again.body]).toMatchObject([409, { code: 'conflict', role: 'member' }])
    // Back after they left: their way in is their own, and whoever adds them does not get it.
    await remove(first.member.user_id)
    expect((await add({ email })).body).toMatchObject({ member: { user_id: first.member.user_id }, sign_in: null })
  })

  test('who is known from another account is never handed to whoever adds them', async () => {
    const stranger = await app.makeUser('owner', 'own')
    const email = address()
    await app.deps.db.updateTable('users').set({ email }).where('user_id', '=', stranger.user_id).execute()
    await app.request<Project>('POST', '/v1/projects', { token: stranger.token, body: { name: 'theirs' } })
    expect((await add({ email })).body).toMatchObject({ member: { user_id: stranger.user_id }, sign_in: null })
  })

  test.each([{}, { email: 'nobody' }, { email: '' }, { email: 'a@example.test', role: 'king' }])(
    'is refused as %p',
    async (body) => expect((await add(body)).status).toBe(400),
  )

  test('twenty times at once is there once', async () => {
    const email = address()
    const replies = await Promise.all(Array.from({ length: 20 }, () => add({ email })))
    expect(new Set(replies.map((reply) => reply.status))).toEqual(new Set([201]))
    expect((await list()).filter((member) => member.email === email)).toHaveLength(1)
  })
})

describe('a role', () => {
  test('is what every token of theirs is cut to, from the next request on', async () => {
    const { user_id, token } = await app.makeUser('member')
    const { project } = await app.managedProject()
    const held = await app.makeToken({ user_id, project_id: project.project_id })
    const write = (token: string) =>
      app.request('POST', `/v1/projects/${project.project_id}/secrets`, { token, body: { name: 'A', value: 'a' } })
    expect([(await write(token)).status, (await write(held)).status]).toEqual([200, 200])
    expect((await setRole(user_id, 'viewer')).body).toMatchObject({ user_id, role: 'viewer' })
    expect([(await write(token)).status, (await write(held)).status]).toEqual([403, 403])
    await remove(user_id)
    for (const left of [token, held])
      expect((await app.request('GET', `/v1/projects/${project.project_id}`, { token: left })).status).toBe(403)
  })

  test('of an owner is an owner’s matter', async () => {
    const admin = await app.makeUser('admin')
    const second = await app.makeUser('owner')
    const member = await app.makeUser('member')
    expect((await setRole(member.user_id, 'owner', admin.token)).status).toBe(403)
    expect((await add({ email: address(), role: 'owner' }, admin.token)).status).toBe(403)
    expect((await setRole(second.user_id, 'viewer', admin.token)).status).toBe(403)
    expect((await remove(second.user_id, admin.token)).status).toBe(403)
    expect((await setRole(member.user_id, 'admin', admin.token)).status).toBe(200)
    expect((await remove(second.user_id)).status).toBe(200)
  })

  test('of the last owner stays, and so do they', async () => {
    const reply = await setRole(app.owner.user_id, 'admin')
    expect([reply.status, reply.body]).toMatchObject([409, { code: 'conflict', hint: expect.any(String) as never }])
    expect((await remove(app.owner.user_id)).status).toBe(409)
  })

  test('of two owners who remove each other at once leaves one, every time', async () => {
    for (let round = 0; round < 10; round++) {
      const second = await app.makeUser('owner')
      const statuses = await Promise.all([
        remove(second.user_id, app.ownerToken),
        remove(app.owner.user_id, second.token),
      ]).then((replies) => replies.map((reply) => reply.status))
      const owners = (await app.deps.db
        .selectFrom('account_members')
        .select('user_id')
        .where('account_id', '=', app.owner.account_id)
        .where('role', '=', 'owner')
        .execute()) as { user_id: string }[]
      expect([statuses.filter((status) => status === 200).length, owners.length]).toEqual([1, 1])
      await app.deps.db
        .insertInto('account_members')
        .values({ account_id: app.owner.account_id, user_id: app.owner.user_id, role: 'owner' })
        .onConflict((conflict) => conflict.doNothing())
        .execute()
      await remove(second.user_id)
    }
  })
})

test('whoever wants to leave may, whatever their role', async () => {
  for (const role of ['viewer', 'member', 'admin'] as const) {
    const { user_id, token } = await app.makeUser(role)
    expect((await remove(user_id.toUpperCase(), token)).status).toBe(200)
    expect((await app.request('GET', path(), { token })).status).toBe(403)
  }
})

test('the list comes in pages, each member once', async () => {
  for (let n = 0; n < 5; n++) await app.makeUser('viewer')
  const all = (await list()).map((member) => member.user_id)
  const seen: string[] = []
  for (let next: string | null = path('?limit=3'); next !== null;) {
    const reply: TestReply<Member[]> = await app.request('GET', next)
    seen.push(...reply.body.map((member) => member.user_id))
    next = /^<([^>]+)>; rel="next"$/.exec(reply.headers.get('link') ?? '')?.[1] ?? null
  }
  expect(seen).toEqual(all)
})
