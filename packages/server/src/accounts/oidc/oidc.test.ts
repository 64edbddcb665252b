import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { randomUUID } from 'node:crypto'
import { makeTestApp, type TestApp } from '../../testing.ts'
import { startTestProvider, type TestPerson, type TestProvider } from './testing.ts'

const ours = 'http://127.0.0.1:8420'
const redirectUri = () => `${ours}/sign-in/oidc/callback`
let app: TestApp
let provider: TestProvider
beforeAll(async () => {
  provider = await startTestProvider({ redirectUri })
  app = await makeTestApp({ configure: { publicUrl: ours, oidc: { ...provider, name: 'Our own' } } })
}, 120_000)
afterAll(async () => {
  await app?.close()
  await provider?.close()
})

/** A browser: follows redirects, keeps cookies per site, and stops at a page of this server. */
class Browser {
  readonly jars = new Map<string, Map<string, string>>()

  async open(address: string): Promise<{ page: string; cookies: string[] }> {
    let url = new URL(address, ours)
    for (let step = 0; step < 12; step++) {
      const { status, headers } = await this.#get(url)
      const cookies = headers.getSetCookie()
      for (const cookie of cookies) this.#keep(url.origin, cookie)
      const location = headers.get('location')
      if (location === null) throw new Error(`${url.pathname} answered ${status}`)
      url = new URL(location, url)
      if (url.origin === ours && !url.pathname.startsWith('/sign-in/oidc'))
        return { page: url.pathname + url.search, cookies }
    }
    throw new Error('too many redirects')
  }

  async leave(path = '/sign-in/oidc'): Promise<URL> {
    const { headers } = await this.#get(new URL(path, ours))
    for (const cookie of headers.getSetCookie()) this.#keep(ours, cookie)
    return new URL(headers.get('location')!, ours)
  }

  cookie(origin = ours): string {
    return [...(this.jars.get(origin) ?? [])].map(([name, value]) => `${name}=${value}`).join('; ')
  }

  async whoami(): Promise<string | null> {
    const headers = { cookie: this.cookie(), origin: ours }
    const me = await app.request<{ user?: { user_id: string } }>('GET', '/v1/accounts/me', { token: null, headers })
    return me.body.user?.user_id ?? null
  }

  async #get(url: URL): Promise<{ status: number; headers: Headers }> {
    const headers = { cookie: this.cookie(url.origin), 'sec-fetch-site': 'same-origin' }
    if (url.origin === ours) return app.request('GET', url.pathname + url.search, { token: null, headers })
    return fetch(url, { headers, redirect: 'manual' })
  }

  #keep(origin: string, cookie: string): void {
    const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(cookie) ?? []
    const jar = this.jars.get(origin) ?? this.jars.set(origin, new Map()).get(origin)!
    if (/max-age=0/i.test(cookie) || value === '') jar.delete(name)
    else jar.set(name, value)
  }
}

interface Invited {
  invitation_id: string
  sign_in: { url: string }
}
async function invite(email: string, role = 'member'): Promise<Invited> {
  const headers = { ...(await app.browser()), origin: ours }
  const path = `/v1/accounts/${app.owner.account_id}/members`
  const added = await app.request<Invited>('POST', path, { token: null, headers, body: { email, role } })
  expect(added.status).toBe(201)
  return added.body
}

/** A person at the provider whose address was invited, and who signed in and accepted. */
async function member(): Promise<{ user_id: string; email: string; person: TestPerson }> {
  const email = `${randomUUID()}@example.test`
  const { invitation_id } = await invite(email)
  const person = somebody(email)
  const browser = new Browser()
  expect((await comesBack(person, browser)).page).toBe('/invitations')
  const headers = { cookie: browser.cookie(), origin: ours }
  const accepted = await app.request('POST', '/v1/invitations/accept', {
    token: null,
    headers,
    body: { invitation_id },
  })
  expect(accepted.status).toBe(200)
  return { user_id: (await browser.whoami())!, email, person }
}
const membersOf = () => `/v1/accounts/${app.owner.account_id}/members`
const somebody = (email?: string, email_verified = true): TestPerson => ({
  subject: randomUUID(),
  ...(email === undefined ? {} : { email, email_verified }),
})

async function comesBack(person: TestPerson | null, browser = new Browser()) {
  provider.person = person
  return browser.open('/sign-in/oidc')
}

describe('signing in with a provider', () => {
  test('signs in the member who accepted an invitation of that address in any case, and continues at the requested page', async () => {
    const { user_id, email, person } = await member()
    provider.person = { ...person, email: email.toUpperCase() }
    const browser = new Browser()
    const { page, cookies } = await browser.open('/sign-in/oidc?next=%2Fprojects%2Fa%2Fapps%3Fx%3D1')
    expect(page).toBe('/projects/a/apps?x=1')
    expect(await browser.whoami()).toBe(user_id)
    expect(cookies.find((cookie) => cookie.startsWith('svc_session='))).toContain('HttpOnly; SameSite=Lax')
    expect(browser.cookie()).not.toContain('svc_oidc')
    const audit = await app.request<{ action: string; after: object; actor_user_id: string }[]>(
      'GET',
      `/v1/accounts/${app.owner.account_id}/audit?action=user.sign_in&actor_user_id=${user_id}`,
    )
    expect(audit.body[0]).toMatchObject({ after: { issuer: provider.issuer, email } })
    const headers = { cookie: browser.cookie(), origin: ours }
    const mine = await app.request('GET', '/v1/accounts/dashboard-sessions', { token: null, headers })
    expect(mine.body).toContainEqual(expect.objectContaining({ began_by: 'oidc', current: true }) as never)
  })

  test('keeps the user when their address changes at the provider, and a reused address opens no other user', async () => {
    const { user_id, email, person } = await member()
    const browser = new Browser()
    expect((await comesBack({ ...person, email: 'married@example.test' }, browser)).page).toBe('/')
    expect(await browser.whoami()).toBe(user_id)
    const successor = new Browser()
    expect((await comesBack(somebody(email), successor)).page).toBe('/sign-in?problem=another')
    expect(await successor.whoami()).toBeNull()
  })

  test('refuses a person with an unverified address or without an invitation', async () => {
    const { email } = await member()
    const refused: [TestPerson | null, string][] = [
      [somebody(email, false), 'unverified'],
      [somebody(), 'unverified'],
      [somebody('stranger@example.test'), 'unknown'],
      [null, 'refused'],
    ]
    for (const [person, problem] of refused) {
      const browser = new Browser()
      expect((await comesBack(person, browser)).page).toBe(`/sign-in?problem=${problem}`)
      expect(browser.cookie()).toBe('')
    }
  })

  test('refuses a user who left every account, and signs in the same user after a new invitation', async () => {
    const { user_id, email, person } = await member()
    expect((await app.request('DELETE', `${membersOf()}/${user_id}`)).status).toBe(200)
    expect((await comesBack(person)).page).toBe('/sign-in?problem=unknown')
    await invite(email, 'viewer')
    // By then the address belongs to another person.
    const browser = new Browser()
    expect((await comesBack(person, browser)).page).toBe('/invitations')
    const headers = { cookie: browser.cookie(), origin: ours }
    const mine = await app.request<{ invitations: Invited[] }>('GET', '/v1/invitations', { token: null, headers })
    const body = { invitation_id: mine.body.invitations[0]!.invitation_id }
    await app.request('POST', '/v1/invitations/accept', { token: null, headers, body })
    expect(await browser.whoami()).toBe(user_id)
  })

  test("does not sign in a user whom another account's invitation created for the address", async () => {
    const email = `${randomUUID()}@example.test`
    // The attacker invites the victim's address into an account of their own, signs up with the link and sets a password.
    const attacker = await app.makeUser('owner', 'own')
    const me = await app.request<{ account: { account_id: string } }>('GET', '/v1/accounts/me', {
      token: attacker.token,
    })
    const added = await app.request<Invited>('POST', `/v1/accounts/${me.body.account.account_id}/members`, {
      token: null,
      headers: { ...(await app.browser(attacker.user_id)), origin: ours },
      body: { email },
    })
    const code = added.body.sign_in.url.split('#')[1]
    const opened = await app.request('POST', '/v1/sign-in', { token: null, headers: { origin: ours }, body: { code } })
    const planted = { cookie: opened.headers.get('set-cookie')!.split(';')[0]!, origin: ours }
    const body = { email, password: 'known to the attacker' }
    await app.request('POST', '/v1/accounts/password', { token: null, headers: planted, body })
    await invite(email, 'owner')
    const victim = new Browser()
    expect((await comesBack(somebody(email), victim)).page).toBe('/sign-in?problem=unlinked')
    expect(await victim.whoami()).toBeNull()
  })

  test('connects a provider with a password user after both signed in from one browser', async () => {
    const { user_id } = await app.makeUser('member')
    const email = `${randomUUID()}@example.test`
    await app.deps.db.updateTable('users').set({ email }).where('user_id', '=', user_id).execute()
    const person = somebody(email)
    // Has acted here before, unlike a member whom an owner added and who never signed in.
    const headers: Record<string, string> = { ...(await app.browser(user_id)), origin: ours }
    await app.request('POST', '/v1/accounts/tokens', { token: null, headers, body: { name: 'x' } })
    expect((await comesBack(person)).page).toBe('/sign-in?problem=unlinked')
    const browser = new Browser()
    browser.jars.set(ours, new Map([['svc_session', headers.cookie!.split('=')[1]!]]))
    expect((await comesBack(person, browser)).page).toBe('/')
    const elsewhere = new Browser()
    expect((await comesBack(person, elsewhere)).page).toBe('/')
    expect(await elsewhere.whoami()).toBe(user_id)
  })

  test('two concurrent first sign-ins create one user', async () => {
    const email = `${randomUUID()}@example.test`
    await invite(email)
    provider.person = somebody(email)
    const browsers = Array.from({ length: 6 }, () => new Browser())
    const pages = await Promise.all(browsers.map((browser) => browser.open('/sign-in/oidc')))
    expect(pages.map(({ page }) => page)).toEqual(Array(6).fill('/invitations'))
    const made = await app.deps.db.selectFrom('users').select('user_id').where('email', '=', email).execute()
    expect(made).toHaveLength(1)
  })
})

describe('the redirects of a sign-in', () => {
  test('starts each sign-in with a new state, nonce and code challenge', async () => {
    const [first, second] = [await new Browser().leave(), await new Browser().leave()]
    expect(first.origin).toBe(provider.issuer)
    for (const name of ['state', 'nonce', 'code_challenge']) {
      expect(first.searchParams.get(name)!.length).toBeGreaterThan(20)
      expect(first.searchParams.get(name)).not.toBe(second.searchParams.get(name)!)
    }
    expect(first.searchParams.get('code_challenge_method')).toBe('S256')
  })

  test('only the browser that began a sign-in can finish it, once', async () => {
    provider.person = (await member()).person
    const theirs = new Browser()
    const callback = await callbackOf(theirs)
    const other = new Browser()
    expect((await other.open(callback)).page).toBe('/sign-in?problem=expired')
    await other.leave()
    expect((await other.open(callback)).page).toBe('/sign-in?problem=failed')
    expect(await other.whoami()).toBeNull()
    expect((await theirs.open(callback)).page).toBe('/')
    expect((await theirs.open(callback)).page).toBe('/sign-in?problem=expired')
  })

  test.each([
    ['a code of nobody', (url: URL) => url.searchParams.set('code', 'x'.repeat(43))],
    ['another issuer', (url: URL) => url.searchParams.set('iss', 'https://elsewhere.example')],
    ['no code', (url: URL) => url.searchParams.delete('code')],
    ['two states', (url: URL) => url.searchParams.append('state', 'x')],
  ])('a callback with %s signs nobody in', async (_, change) => {
    provider.person = (await member()).person
    const browser = new Browser()
    const url = new URL(await callbackOf(browser), ours)
    change(url)
    expect((await browser.open(url.pathname + url.search)).page).toBe('/sign-in?problem=failed')
    expect(await browser.whoami()).toBeNull()
  })

  test.each(['//evil.example', '/\\evil.example', 'https://evil.example', '/a\\b', '/x\r\nset-cookie:a=b', ''])(
    'continues at the home page instead of %j',
    async (next) => {
      provider.person = (await member()).person
      expect((await new Browser().open(`/sign-in/oidc?${new URLSearchParams({ next })}`)).page).toBe('/')
    },
  )

  test('refuses to begin a sign-in from another site', async () => {
    const headers = { 'sec-fetch-site': 'cross-site' }
    expect((await app.request('GET', '/sign-in/oidc', { token: null, headers })).status).toBe(403)
  })
})

test('shows on the page that the provider is down, and offers none without a configuration', async () => {
  const closed = await startTestProvider({ redirectUri })
  await closed.close()
  const other = await makeTestApp({ configure: { publicUrl: ours, oidc: { ...closed, name: 'Away' } } })
  try {
    const left = await other.request('GET', '/sign-in/oidc', { token: null })
    expect(left.headers.get('location')).toBe('/sign-in?problem=away')
    expect((await other.request('GET', '/v1/sign-in', { token: null })).body).toEqual({ password: true, oidc: 'Away' })
  } finally {
    await other.close()
  }
  const without = await makeTestApp()
  try {
    expect((await without.request('GET', '/sign-in/oidc', { token: null })).status).toBe(404)
    expect((await without.request('GET', '/v1/sign-in', { token: null })).body).toEqual({ password: true, oidc: null })
  } finally {
    await without.close()
  }
})

test.each(['client_secret_basic', 'client_secret_post'] as const)(
  'accepts a provider that uses %s and puts the address into the ID token',
  async (clientAuth) => {
    const kept = provider
    const keptApp = app
    provider = await startTestProvider({ redirectUri, clientAuth, claimsIn: 'id_token' })
    app = await makeTestApp({ configure: { publicUrl: ours, oidc: { ...provider, name: 'Other' } } })
    try {
      const { user_id, person } = await member()
      const browser = new Browser()
      expect((await comesBack(person, browser)).page).toBe('/')
      expect(await browser.whoami()).toBe(user_id)
    } finally {
      await app.close()
      await provider.close()
      provider = kept
      app = keptApp
    }
  },
)

/** The provider's redirect for this browser, not opened yet. */
async function callbackOf(browser: Browser): Promise<string> {
  let url = await browser.leave()
  const jar = new Map<string, string>()
  while (url.origin !== ours) {
    const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join('; ')
    const answer = await fetch(url, { redirect: 'manual', headers: { cookie } })
    for (const each of answer.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(each) ?? []
      jar.set(name, value)
    }
    url = new URL(answer.headers.get('location')!, url)
  }
  return url.pathname + url.search
}
