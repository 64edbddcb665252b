import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { randomUUID } from 'node:crypto'
import type { Member, ProjectToken } from '@svc/contract'
import { makeTestApp, type TestApp, type TestReply } from '../testing.ts'

let app: TestApp
beforeAll(async () => {
  app = await makeTestApp()
}, 120_000)
afterAll(() => app.close())

const path = (rest = '') => `/v1/accounts/${app.owner.account_id}/members${rest}`
const list = async () => (await app.request<Member[]>('GET', path('?limit=1000'))).body
const address = () => `${randomUUID()}@example.test`
const add = (body: object, token?: string) =>
  app.request('POST', path(), { body, ...(token === undefined ? {} : { token }) })
const setRole = (user: string, role: string, token?: string) =>
  app.request('PATCH', path(`/${user}`), { body: { role }, ...(token === undefined ? {} : { token }) })
const remove = (user: string, token?: string) =>
  app.request('DELETE', path(`/${user}`), token === undefined ? {} : { token })

describe('roles of members', () => {
  test('limits every token of a member to their role from the next request on', async () => {
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

  test('the tokens of a removed member stay in the list of the project, marked', async () => {
    const { user_id, token } = await app.makeUser('member')
    const { project } = await app.managedProject()
    const tokens = `/v1/projects/${project.project_id}/cli-token`
    await app.request('POST', tokens, { token, body: { name: 'theirs' } })
    await app.request('POST', tokens, { body: { name: 'ours' } })
    const listed = async () =>
      (await app.request<ProjectToken[]>('GET', tokens)).body.map(({ name, created_by, is_member }) => [
        name,
        created_by === user_id,
        is_member,
      ])
    expect(await listed()).toEqual([
      ['ours', false, true],
      ['theirs', true, true],
    ])
    await remove(user_id)
    expect(await listed()).toEqual([
      ['ours', false, true],
      ['theirs', true, false],
    ])
  })

  test('only an owner can change the role of an owner', async () => {
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

  test('refuses to change or remove the last owner', async () => {
    const reply = await setRole(app.owner.user_id, 'admin')
    expect([reply.status, reply.body]).toMatchObject([409, { code: 'conflict', hint: expect.any(String) as never }])
    expect((await remove(app.owner.user_id)).status).toBe(409)
  })

  test('one owner remains when two owners remove each other concurrently', async () => {
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

test('a member with any role can leave the account', async () => {
  for (const role of ['viewer', 'member', 'admin'] as const) {
    const { user_id, token } = await app.makeUser(role)
    expect((await remove(user_id.toUpperCase(), token)).status).toBe(200)
    expect((await app.request('GET', path(), { token })).status).toBe(403)
  }
})

test('lists each member once, in pages', async () => {
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
