/** Invitations belong to one account, the invited user accepts them, and they never give access to an existing user. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { randomUUID } from 'node:crypto'
import type { Invitation, Member } from '@svc/contract'
import { makeTestApp, type TestApp } from '../../testing.ts'

let app: TestApp
beforeAll(async () => {
  app = await makeTestApp()
}, 120_000)
afterAll(() => app.close())

type Headers = Record<string, string>
interface Added {
  member: Member
  invitation_id: string
  sign_in: { url: string; expires_at: string } | null
}
interface Host {
  account_id: string
  user_id: string
  token: string
  browser: Headers
}

/** An owner whose account has no other member. */
async function host(): Promise<Host> {
  const { user_id, token } = await app.makeUser('owner', 'own')
  const me = await app.request<{ account: { account_id: string } }>('GET', '/v1/accounts/me', { token })
  return { user_id, token, account_id: me.body.account.account_id, browser: await app.browser(user_id) }
}
const address = () => `${randomUUID()}@example.test`
const membersOf = ({ account_id }: Host) => `/v1/accounts/${account_id}/members`
const invitationsOf = ({ account_id }: Host, rest = '') => `/v1/accounts/${account_id}/invitations${rest}`
const as = (headers: Headers) => ({ token: null, headers })
const invite = (by: Host, email: string, role = 'member') =>
  app.request<Added>('POST', membersOf(by), { ...as(by.browser), body: { email, role } })
const codeOf = ({ body }: { body: Added }) => body.sign_in!.url.split('#')[1]!
const open = (code: string) =>
  app.request('POST', '/v1/sign-in', { ...as({ origin: app.deps.config.publicUrl }), body: { code } })
const accept = (headers: Headers, body: object) =>
  app.request('POST', '/v1/invitations/accept', { ...as(headers), body })
const accountsOf = async (headers: Headers) =>
  (
    await app.request<{ accounts?: { account_id: string; role: string }[] }>('GET', '/v1/accounts/me', as(headers))
  ).body.accounts?.map(({ account_id, role }) => `${account_id} ${role}`)

async function signUp(code: string): Promise<Headers> {
  const reply = await open(code)
  expect(reply.status).toBe(200)
  return { cookie: reply.headers.get('set-cookie')!.split(';')[0]!, origin: app.deps.config.publicUrl }
}

describe('invitations', () => {
  test('only the person who signs up with the link becomes a member', async () => {
    const by = await host()
    const email = address()
    const added = await invite(by, email.toUpperCase(), 'viewer')
    expect([added.status, added.body.member]).toMatchObject([201, { email, role: 'viewer', name: email.split('@')[0] }])
    const days = (Date.parse(added.body.sign_in!.expires_at) - Date.now()) / 86_400_000
    expect(Math.abs(days - 7)).toBeLessThan(0.01)
    const list = async () => (await app.request<Member[]>('GET', membersOf(by), as(by.browser))).body
    expect(await list()).toHaveLength(1)
    const browser = await signUp(codeOf(added))
    expect(await accountsOf(browser)).toEqual([`${by.account_id} viewer`])
    expect((await list())[1]).toMatchObject({ user_id: added.body.member.user_id, email, role: 'viewer' })
    expect((await invite(by, email)).body).toMatchObject({ code: 'conflict', role: 'viewer' } as never)
  })

  test('shows account and inviter without using up the link, and is accepted once', async () => {
    const by = await host()
    const code = codeOf(await invite(by, address()))
    const read = () => app.request('POST', '/v1/invitations/read', { token: null, body: { code } })
    expect((await read()).body).toMatchObject({ account_name: 'Another', invited_by: 'A owner', role: 'member' })
    const replies = await Promise.all(Array.from({ length: 12 }, () => open(code)))
    expect(replies.map(({ status }) => status).toSorted()).toEqual([200, ...Array<number>(11).fill(401)])
    expect((await read()).status).toBe(404)
  })

  test('an invitation is listed, can be revoked, and expires after seven days', async () => {
    const by = await host()
    const [first, second] = [await invite(by, address()), await invite(by, address(), 'admin')]
    const list = async () =>
      (await app.request<{ invitations: Invitation[] }>('GET', invitationsOf(by), { token: by.token })).body.invitations
    expect(await list()).toMatchObject([
      { role: 'admin', has_link: true },
      { invitation_id: first.body.invitation_id, invited_by: { user_id: by.user_id } },
    ])
    const revoke = () => app.request('DELETE', invitationsOf(by, `/${first.body.invitation_id}`), { token: by.token })
    expect([(await revoke()).status, (await revoke()).status]).toEqual([200, 404])
    expect((await open(codeOf(first))).status).toBe(401)
    const past = { expires_at: new Date(Date.now() - 1) }
    await app.deps.db
      .updateTable('invitations')
      .set(past)
      .where('invitation_id', '=', second.body.invitation_id)
      .execute()
    expect((await open(codeOf(second))).status).toBe(401)
    expect(await list()).toEqual([])
    const again = await invite(by, second.body.member.email!)
    expect([again.status, again.body.invitation_id === second.body.invitation_id]).toEqual([201, false])
  })

  test('an invitation made with an API token has no link, and other accounts cannot reach it', async () => {
    const [by, other] = [await host(), await host()]
    const email = address()
    const body = { email, role: 'owner' }
    const added = await app.request<Added>('POST', membersOf(by), { token: by.token, body })
    expect([added.status, added.body.sign_in]).toEqual([201, null])
    const link = (host: Host, options: object) =>
      app.request<{ url: string }>('POST', invitationsOf(host, `/${added.body.invitation_id}/link`), options)
    expect((await link(by, { token: by.token })).status).toBe(403)
    expect((await link(other, as(other.browser))).status).toBe(404)
    const theirs = invitationsOf(other, `/${added.body.invitation_id}`)
    expect((await app.request('DELETE', theirs, { token: other.token })).status).toBe(404)
    const made = await link(by, as(by.browser))
    expect(made.status).toBe(200)
    expect(await accountsOf(await signUp(made.body.url.split('#')[1]!))).toEqual([`${by.account_id} owner`])
  })

  test('changes and removes an invitation by its id, and a new role needs a new link', async () => {
    const by = await host()
    const added = await invite(by, address())
    const path = `${membersOf(by)}/${added.body.member.user_id}`
    const changed = await app.request('PATCH', path, { token: by.token, body: { role: 'owner' } })
    expect([changed.status, changed.body]).toMatchObject([200, { role: 'owner' }])
    expect((await open(codeOf(added))).status).toBe(401)
    expect((await app.request('DELETE', path, { token: by.token })).status).toBe(200)
    expect((await app.request('DELETE', path, { token: by.token })).status).toBe(404)
  })

  test('only an owner can invite an owner or get the link of that invitation', async () => {
    const admin = await app.makeUser('admin')
    const email = address()
    const path = `/v1/accounts/${app.owner.account_id}`
    const body = { email, role: 'owner' }
    const refused = await app.request('POST', `${path}/members`, { ...as(await app.browser(admin.user_id)), body })
    expect(refused.status).toBe(403)
    const { invitation_id } = (await app.request<Added>('POST', `${path}/members`, { body })).body
    const link = `${path}/invitations/${invitation_id}/link`
    expect((await app.request('POST', link, as(await app.browser(admin.user_id)))).status).toBe(403)
  })

  test.each([{}, { email: 'nobody' }, { email: '' }, { email: 'a@example.test', role: 'king' }])(
    'refuses the invitation %j',
    async (body) => {
      const path = `/v1/accounts/${app.owner.account_id}/members`
      expect((await app.request('POST', path, { body })).status).toBe(400)
    },
  )

  test('creates one invitation for twenty concurrent requests', async () => {
    const by = await host()
    const email = address()
    const replies = await Promise.all(Array.from({ length: 20 }, () => invite(by, email)))
    expect(new Set(replies.map(({ body }) => body.invitation_id)).size).toBe(1)
    const opened = await Promise.all(replies.map((reply) => open(codeOf(reply))))
    expect(opened.filter(({ status }) => status === 200)).toHaveLength(1)
  })
})

describe('taking over a user from another account', () => {
  test("an attacker's invitation of the same address gives access only to the attacker's account", async () => {
    const [victim, attacker] = [await host(), await host()]
    const email = address()
    const real = await invite(victim, email, 'owner')
    const stolen = await invite(attacker, email)
    expect(stolen.status).toBe(201)
    const browser = await signUp(codeOf(stolen))
    expect(await accountsOf(browser)).toEqual([`${attacker.account_id} member`])
    // The other invitation is unchanged, and the user it belongs to is a different one.
    const person = await signUp(codeOf(real))
    expect(await accountsOf(person)).toEqual([`${victim.account_id} owner`])
  })

  test("an invitation of an existing user's address signs nobody in as that user", async () => {
    const victim = await host()
    const email = address()
    await app.deps.db.updateTable('users').set({ email }).where('user_id', '=', victim.user_id).execute()
    const attacker = await host()
    const browser = await signUp(codeOf(await invite(attacker, email)))
    expect(await accountsOf(browser)).toEqual([`${attacker.account_id} member`])
    const users = await app.deps.db.selectFrom('users').select('user_id').where('email', '=', email).execute()
    expect(users).toEqual([{ user_id: victim.user_id }])
  })

  test('accepting an invitation keeps the password and address of a signed-in user', async () => {
    const victim = await host()
    const email = address()
    const password = 'a password of mine'
    const set = await app.request('POST', '/v1/accounts/password', { ...as(victim.browser), body: { email, password } })
    expect(set.status).toBe(200)
    const other = await host()
    const code = codeOf(await invite(other, address(), 'viewer'))
    expect((await accept(victim.browser, { code })).body).toEqual({ account_id: other.account_id, role: 'viewer' })
    const body = { email, password }
    const signIn = await app.request('POST', '/v1/sign-in/password', {
      ...as({ origin: victim.browser.origin! }),
      body,
    })
    expect(signIn.status).toBe(200)
    expect(await accountsOf(victim.browser)).toHaveLength(2)
  })
})

describe('accepting an invitation', () => {
  test('only a browser of a user outside of the account can accept, and a refusal does not use up the invitation', async () => {
    const by = await host()
    const code = codeOf(await invite(by, address()))
    expect((await accept(by.browser, { code })).status).toBe(409)
    const guest = await host()
    const withToken = { token: guest.token, body: { code } }
    expect((await app.request('POST', '/v1/invitations/accept', withToken)).status).toBe(403)
    expect((await accept(guest.browser, { code })).status).toBe(200)
    expect((await accept(guest.browser, { code })).status).toBe(404)
  })

  test('accepting by id requires an address that the sign-in provider verified', async () => {
    const by = await host()
    const guest = await host()
    const email = address()
    await app.deps.db.updateTable('users').set({ email }).where('user_id', '=', guest.user_id).execute()
    const { invitation_id } = (await invite(by, email)).body
    expect((await accept(guest.browser, { invitation_id })).status).toBe(404)
    const mine = () => app.request<{ invitations: object[] }>('GET', '/v1/invitations', as(guest.browser))
    expect((await mine()).body.invitations).toEqual([])
    await app.deps.db
      .insertInto('user_identities')
      .values({ issuer: 'https://issuer.test', subject: guest.user_id, user_id: guest.user_id, email })
      .execute()
    expect((await mine()).body.invitations).toMatchObject([{ invitation_id, account_name: 'Another' }])
    expect((await accept(guest.browser, { invitation_id })).status).toBe(200)
    // An expiring token can invite, but only a link from a browser admits a user.
    const other = await host()
    const { token, user_id } = other
    const soon = { expires_at: new Date(Date.now() + 60_000) }
    await app.deps.db.updateTable('tokens').set(soon).where('user_id', '=', user_id).execute()
    const added = await app.request<Added>('POST', membersOf(other), { token, body: { email } })
    expect([added.status, added.body.sign_in, (await mine()).body.invitations]).toEqual([201, null, []])
    expect((await accept(guest.browser, added.body)).status).toBe(404)
  })
})
