import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Account } from '@svc/contract'
import { sha256 } from '../auth/credentials.ts'
import { makeTestApp, type TestApp } from '../testing.ts'
import { ensureOwner } from './first-start.ts'

let app: TestApp
beforeAll(async () => {
  app = await makeTestApp()
}, 120_000)
afterAll(() => app.close())

const ourPage = () => ({ origin: app.deps.config.publicUrl })
async function newLink() {
  const headers = await app.browser()
  return app.request<{ url: string; expires_at: string }>('POST', '/v1/accounts/owner-links', { token: null, headers })
}
const newCode = async () => (await newLink()).body.url.split('#')[1]!
const signIn = (code: string, headers: Record<string, string> = ourPage()) =>
  app.request<{ ok?: true; code?: string }>('POST', '/v1/sign-in', { token: null, body: { code }, headers })
const cookieOf = (reply: { headers: Headers }) => reply.headers.get('set-cookie')!.split(';')[0]!
const me = (cookie: string, headers: Record<string, string> = {}) =>
  app.request<{ user: { user_id: string } }>('GET', '/v1/accounts/me', { token: null, headers: { cookie, ...headers } })

describe('GET /v1/accounts/me', () => {
  test('returns the user with their accounts, oldest first', async () => {
    const { status, body } = await app.request('GET', '/v1/accounts/me')
    expect(status).toBe(200)
    const { user_id, account_id } = app.owner
    const slug = `personal-${account_id.slice(0, 8)}`
    const account = { account_id, slug, name: 'Personal', plan: 'selfhost', role: 'owner' }
    const user = { user_id, name: 'Owner', email: null }
    expect(body).toEqual({ user_id, email: null, user, account, accounts: [account] })
  })

  test('gives every account a slug, whatever its name is, and a new one after it is renamed', async () => {
    const slugs: Record<string, string> = {}
    for (const name of ['Łukasz & Zoë’s Lab', '研究', '--', 'x'.repeat(100)]) {
      const { body } = await app.request<Account>('POST', '/v1/accounts', { body: { name } })
      expect(body.slug).toEndWith(`-${body.account_id.slice(0, 8)}`)
      slugs[name] = body.slug.slice(0, -9)
      const renamed = await app.request<Account>('PATCH', `/v1/accounts/${body.account_id}`, { body: { name: 'New' } })
      expect(renamed.body.slug).toBe(`new-${body.account_id.slice(0, 8)}`)
      const { body: listed } = await app.request<{ accounts: Account[] }>('GET', '/v1/accounts')
      expect(listed.accounts.find((one) => one.account_id === body.account_id)?.slug).toBe(renamed.body.slug)
    }
    expect(Object.values(slugs)).toEqual(['ukasz-zoe-s-lab', 'account', 'account', 'x'.repeat(50)])
  })

  test('returns the role of a viewer', async () => {
    const { token } = await app.makeUser('viewer')
    const { body } = await app.request<{ account: Account }>('GET', '/v1/accounts/me', { token })
    expect(body.account.role).toBe('viewer')
  })

  test('refuses a user without an account instead of failing', async () => {
    const { user_id, token } = await app.makeUser('member')
    await app.deps.db.deleteFrom('account_members').where('user_id', '=', user_id).execute()
    expect((await app.request('GET', '/v1/accounts/me', { token })).status).toBe(403)
    expect((await app.request('GET', '/v1/token', { token })).status).toBe(404)
  })
})

describe('owner links', () => {
  test('puts the code into the fragment, which no server sees, and stores its hash', async () => {
    const { body } = await newLink()
    const url = new URL(body.url)
    expect([url.origin, url.pathname, url.search]).toEqual([app.deps.config.publicUrl, '/sign-in', ''])
    expect(url.hash).toMatch(/^#[0-9A-Za-z]{32}$/)
    const hours = (Date.parse(body.expires_at) - Date.now()) / 3_600_000
    expect(Math.abs(hours - 24)).toBeLessThan(0.1)
    const rows = await app.deps.db.selectFrom('owner_links').selectAll().execute()
    expect(JSON.stringify(rows)).not.toContain(url.hash.slice(1))
    expect(rows.some((row) => row.sha256.equals(sha256(url.hash.slice(1))))).toBeTrue()
  })

  test('signs in once, however many requests open the link concurrently', async () => {
    const code = await newCode()
    const replies = await Promise.all(Array.from({ length: 20 }, () => signIn(code)))
    expect(replies.filter((reply) => reply.status === 200)).toHaveLength(1)
    expect(replies.filter((reply) => reply.status === 401)).toHaveLength(19)
    expect(replies.filter((reply) => reply.headers.has('set-cookie'))).toHaveLength(1)
    expect((await signIn(code)).status).toBe(401)
  })

  test('refuses an expired link, and forgets it', async () => {
    const code = await newCode()
    await app.deps.db
      .updateTable('owner_links')
      .set({ expires_at: new Date(Date.now() - 1) })
      .where('sha256', '=', sha256(code))
      .execute()
    expect((await signIn(code)).status).toBe(401)
    // The next link removes it.
    await newCode()
    const rows = await app.deps.db.selectFrom('owner_links').select('sha256').execute()
    expect(rows.some((row) => row.sha256.equals(sha256(code)))).toBeFalse()
  })

  test('a page of another site does not use up the link', async () => {
    const code = await newCode()
    for (const headers of [
      { origin: 'http://evil.test' },
      { origin: 'null' },
      { origin: `${app.deps.config.publicUrl}.evil.test` },
      { origin: `http://${new URL(app.deps.config.publicUrl).host}@evil.test` },
      { ...ourPage(), 'sec-fetch-site': 'cross-site' },
      { ...ourPage(), 'sec-fetch-site': 'same-site' },
      {},
    ])
      expect((await signIn(code, headers as Record<string, string>)).status).toBe(403)
    expect((await signIn(code)).status).toBe(200)
  })

  test('refuses a guessed code and a used one with the same message', async () => {
    const code = await newCode()
    await signIn(code)
    expect((await signIn('0'.repeat(32))).body).toEqual((await signIn(code)).body)
  })
})

describe('the dashboard cookie', () => {
  test('sets the cookie HttpOnly, SameSite and without a domain', async () => {
    const header = (await signIn(await newCode())).headers.getSetCookie()[0]!
    const [pair, ...attributes] = header.split('; ')
    expect(pair).toMatch(/^svc_session=[0-9A-Za-z]{40}$/)
    expect(attributes.toSorted()).toEqual(['HttpOnly', 'Max-Age=2592000', 'Path=/', 'SameSite=Lax'])
  })

  test('a server behind https sets the cookie with the __Host- prefix and sends it only over https', async () => {
    const secure = await makeTestApp({ configure: { publicUrl: 'https://svc.example' } })
    try {
      const headers = await secure.browser()
      const link = await secure.request<{ url: string }>('POST', '/v1/accounts/owner-links', { token: null, headers })
      const reply = await secure.request('POST', '/v1/sign-in', {
        token: null,
        body: { code: link.body.url.split('#')[1] },
        headers: { origin: 'https://svc.example' },
      })
      const header = reply.headers.get('set-cookie')!
      expect(header).toMatch(/^__Host-svc_session=[0-9A-Za-z]{40}; Path=\/; /)
      expect(header).toContain('; Secure')
      const value = header.split(';')[0]!.split('=')[1]!
      const ask = (cookie: string) => secure.request('GET', '/v1/accounts/me', { token: null, headers: { cookie } })
      expect((await ask(`__Host-svc_session=${value}`)).status).toBe(200)
      // A neighboring subdomain can set a cookie with the plain name, but none with the prefix.
      expect((await ask(`svc_session=${value}`)).status).toBe(401)
    } finally {
      await secure.close()
    }
  })

  test('the cookie authenticates its user until they sign out', async () => {
    const cookie = cookieOf(await signIn(await newCode()))
    expect((await me(cookie)).body.user.user_id).toBe(app.owner.user_id)
    const out = await app.request('POST', '/v1/sign-out', { token: null, headers: { cookie, ...ourPage() } })
    expect(out.headers.get('set-cookie')).toMatch(/^svc_session=; .*Max-Age=0/)
    expect((await me(cookie)).status).toBe(401)
  })

  test('stores the cookie as a hash, and it expires after thirty days', async () => {
    const cookie = cookieOf(await signIn(await newCode()))
    const value = cookie.split('=')[1]!
    const rows = await app.deps.db.selectFrom('dashboard_sessions').selectAll().execute()
    expect(JSON.stringify(rows)).not.toContain(value)
    await app.deps.db
      .updateTable('dashboard_sessions')
      .set({ expires_at: new Date(Date.now() - 1) })
      .where('sha256', '=', sha256(value))
      .execute()
    expect((await me(cookie)).status).toBe(401)
  })

  test('an invalid token in the header wins over the cookie', async () => {
    const cookie = cookieOf(await signIn(await newCode()))
    expect((await me(cookie, { authorization: 'Bearer svc_pat_wrong' })).status).toBe(401)
  })

  test('reads repeated cookies and several cookies as a browser sends them', async () => {
    const cookie = cookieOf(await signIn(await newCode()))
    expect((await me(`a=b; ${cookie}; c="d"`)).status).toBe(200)
    expect((await me(`xsvc_session=1; ${cookie}x`)).status).toBe(401)
  })
})

test('one of ten servers that start concurrently on an empty database creates the owner', async () => {
  const empty = await makeTestApp()
  try {
    await empty.deps.db.deleteFrom('account_members').execute()
    await empty.deps.db.deleteFrom('users').execute()
    await empty.deps.db.deleteFrom('accounts').execute()
    const made = await Promise.all(Array.from({ length: 10 }, () => ensureOwner(empty.deps)))
    expect(new Set(made.map((owner) => owner.user_id)).size).toBe(1)
    expect(made.filter((owner) => owner.isNew)).toHaveLength(1)
  } finally {
    await empty.close()
  }
})
