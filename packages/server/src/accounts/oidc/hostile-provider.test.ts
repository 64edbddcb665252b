/** A hostile provider, or a proxy in between, lies about who signed in: no sign-in succeeds, and the server keeps working. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { randomUUID } from 'node:crypto'
import { refuseUrl } from '../../egress/web-address.ts'
import { makeTestApp, type TestApp } from '../../testing.ts'
import { OidcProvider } from './provider.ts'
import { type HostileProvider, type Lies, startHostileProvider } from './testing-hostile.ts'

const ours = 'http://127.0.0.1:8420'
let nonce = ''
let email = ''
const provider: HostileProvider = startHostileProvider({ nonce: () => nonce, email: () => email })
let app: TestApp
beforeAll(async () => {
  app = await startApp()
}, 120_000)
beforeEach(async () => {
  provider.lies = {}
  provider.asked.length = 0
  email = `${randomUUID()}@example.test`
  await invite(app, email)
})
afterAll(async () => {
  await app?.close()
  provider.close()
})

function startApp(): Promise<TestApp> {
  const { issuer, clientId, clientSecret } = provider
  return makeTestApp({ configure: { publicUrl: ours, oidc: { issuer, clientId, clientSecret, name: 'Hostile' } } })
}

const invite = (at: TestApp, address: string) =>
  at.request('POST', `/v1/accounts/${at.owner.account_id}/members`, { body: { email: address, role: 'member' } })

async function leave(): Promise<{ location: URL; cookie: string }> {
  const left = await app.request('GET', '/sign-in/oidc', { token: null, headers: { 'sec-fetch-site': 'same-origin' } })
  const location = new URL(left.headers.get('location')!, ours)
  nonce = location.searchParams.get('nonce') ?? ''
  const cookie = left.headers
    .getSetCookie()
    .map((line) => line.split(';')[0])
    .join('; ')
  return { location, cookie }
}

/** The redirect target, and whether the browser is then signed in. */
async function signIn(change: (query: URLSearchParams) => void = () => {}) {
  const { location, cookie } = await leave()
  const query = new URLSearchParams({ code: randomUUID(), state: location.searchParams.get('state') ?? '' })
  change(query)
  const headers = { cookie, 'sec-fetch-site': 'cross-site' }
  const back = await app.request('GET', `/sign-in/oidc/callback?${query}`, { token: null, headers })
  return {
    page: back.headers.get('location'),
    isIn: back.headers.getSetCookie().some((line) => /^svc_session=[^;]/.test(line)),
  }
}

test('an honest provider signs an invited person in', async () => {
  expect(await signIn()).toEqual({ page: '/invitations', isIn: true })
  email = `${randomUUID()}@example.test`
  await invite(app, email)
  provider.lies = { claims: { aud: ['svc'], email: undefined, sub: 'honest' } }
  provider.lies.userinfo = { sub: 'honest', email, email_verified: true }
  expect(await signIn()).toEqual({ page: '/invitations', isIn: true })
})

const now = () => Math.floor(Date.now() / 1000)
const lies: [string, () => Lies, problem?: string][] = [
  ['an unsigned ID token', () => ({ signature: 'none' })],
  ['an ID token signed with another key', () => ({ signature: 'another key' })],
  ['an ID token with a broken signature', () => ({ signature: 'broken' })],
  ['an ID token signed with the client secret', () => ({ signature: 'secret' })],
  ['an ID token signed with the public key as a secret', () => ({ signature: 'public key' })],
  ['RS256 in the header over an HMAC', () => ({ signature: 'public key', header: { alg: 'RS256' } })],
  ['a key that no key set has', () => ({ header: { kid: 'unknown' }, signature: 'another key' })],
  [
    'a key of its own in the header',
    () => ({ header: { jwk: { kty: 'RSA', n: 'AQAB', e: 'AQAB' } }, signature: 'another key' }),
  ],
  [
    'an address of keys in the header',
    () => ({ header: { jku: `${provider.issuer}/stranger` }, signature: 'another key' }),
  ],
  ['an extension that must be understood', () => ({ header: { crit: ['b64'], b64: false } })],
  ['no nonce', () => ({ claims: { nonce: undefined } })],
  ['the nonce of another sign-in', () => ({ claims: { nonce: 'replayed' } })],
  ['another audience', () => ({ claims: { aud: 'another-client' } })],
  ['an empty audience', () => ({ claims: { aud: [] } })],
  ['two audiences and no authorized party', () => ({ claims: { aud: ['svc', 'another-client'] } })],
  ['another authorized party', () => ({ claims: { aud: ['svc', 'another-client'], azp: 'another-client' } })],
  ['another issuer', () => ({ claims: { iss: 'https://elsewhere.example' } })],
  ['an issuer that only begins like it', () => ({ claims: { iss: `${provider.issuer}.evil.example` } })],
  ['a token that has expired', () => ({ claims: { exp: now() - 600 } })],
  ['a token without an end', () => ({ claims: { exp: undefined } })],
  ['a token that is not valid yet', () => ({ claims: { nbf: now() + 600 } })],
  ['no subject', () => ({ claims: { sub: undefined } })],
  ['a subject that is no text', () => ({ claims: { sub: 7 } })],
  ['no ID token', () => ({ tokens: { id_token: undefined } })],
  ['an ID token of two parts', () => ({ tokens: { id_token: 'e30.e30' } })],
  ['an ID token that is an object', () => ({ tokens: { id_token: {} } })],
  ['no access token', () => ({ tokens: { access_token: undefined } })],
  ['an address that is not verified', () => ({ claims: { email_verified: false } }), 'unverified'],
  ['an address verified by a text', () => ({ claims: { email_verified: 'true' } }), 'unverified'],
  ['an address verified by a number', () => ({ claims: { email_verified: 1 } }), 'unverified'],
  ['an address of which it says nothing', () => ({ claims: { email_verified: undefined } }), 'unverified'],
  ['a list of addresses', () => ({ claims: { email: [email] } }), 'unverified'],
  [
    'userinfo of another subject',
    () => ({ claims: { email: undefined }, userinfo: { sub: 'another', email, email_verified: true } }),
  ],
  ['userinfo without a subject', () => ({ claims: { email: undefined }, userinfo: { email, email_verified: true } })],
  [
    'userinfo as a page',
    () => ({
      claims: { email: undefined },
      answer: { '/userinfo': () => new Response(`<p>${email}`, { headers: { 'content-type': 'text/html' } }) },
    }),
  ],
  [
    'an error as an answer',
    () => ({ answer: { '/token': () => Response.json({ error: '<img src=x onerror=alert(1)>' }, { status: 400 }) } }),
  ],
]

test.each(lies)('a provider with %s signs nobody in', async (_, lie, problem = 'failed') => {
  provider.lies = lie()
  expect(await signIn()).toEqual({ page: `/sign-in?problem=${problem}`, isIn: false })
})

test('does not match an address that differs only by Unicode lower case', async () => {
  await invite(app, 'kim@example.test')
  provider.lies = { claims: { email: '\u212Aim@example.test' } }
  expect(await signIn()).toEqual({ page: '/sign-in?problem=unknown', isIn: false })
})

describe('the callback of the browser', () => {
  test.each<[string, (query: URLSearchParams) => void, string?]>([
    ['the issuer of another provider', (query) => query.set('iss', 'https://elsewhere.example')],
    [
      'two issuers',
      (query) => (query.append('iss', provider.issuer), query.append('iss', 'https://elsewhere.example')),
    ],
    ['a state of another sign-in', (query) => query.set('state', 'of-another')],
    ['no state', (query) => query.delete('state')],
    ['two codes', (query) => query.append('code', 'second')],
    ['a whole answer as a token', (query) => query.set('response', 'e30.e30.')],
    ['an ID token of its own', (query) => query.set('id_token', 'e30.e30.')],
    ['an error beside the code', (query) => query.set('error', 'javascript:alert(1)'), 'refused'],
  ])('a callback with %s signs nobody in', async (_, change, problem = 'failed') => {
    expect(await signIn(change)).toEqual({ page: `/sign-in?problem=${problem}`, isIn: false })
  })

  test('requires the issuer parameter from a provider that announces it', async () => {
    provider.lies = { discovery: { authorization_response_iss_parameter_supported: true } }
    const { finish } = await begin()
    for (const iss of [undefined, { iss: 'https://elsewhere.example' }])
      expect(await finish(iss).catch((error: Error) => error)).toBeInstanceOf(Error)
    expect(await finish({ iss: provider.issuer })).toMatchObject({ email })
  })
})

/** A fresh server, because a successful discovery is cached. */
async function begin() {
  const fresh = new OidcProvider({ ...provider, name: 'Hostile' }, () => `${ours}/sign-in/oidc/callback`)
  const { journey } = await fresh.begin('/')
  nonce = journey.nonce
  const finish = (more: Record<string, string> = {}) =>
    fresh.finish(`?${new URLSearchParams({ code: 'x', state: journey.state, ...more })}`, journey)
  return { finish }
}

/** The messages of an error and all its causes. */
function reasons(error: unknown): string {
  return error instanceof Error ? `${error.message} ${reasons(error.cause)}` : ''
}

describe('protecting the server from its provider', () => {
  const mebibyte = 1024 * 1024
  const endless = (sent: { bytes: number }) =>
    new Response(
      new ReadableStream({
        pull(controller) {
          sent.bytes += 65_536
          controller.enqueue(new Uint8Array(65_536).fill(32))
        },
      }),
      { headers: { 'content-type': 'application/json' } },
    )

  test.each(['/token', '/jwks', '/userinfo'])('limits how much it reads from %s', async (path) => {
    const sent = { bytes: 0 }
    provider.lies = { answer: { [path]: () => endless(sent) }, claims: { email: undefined, sub: 'honest' } }
    const { finish } = await begin()
    expect(reasons(await finish().catch((error: unknown) => error))).toContain('larger than')
    expect(sent.bytes).toBeGreaterThan(0)
    expect(sent.bytes).toBeLessThan(16 * mebibyte)
  })

  test('limits how much it reads from the discovery document', async () => {
    const sent = { bytes: 0 }
    provider.lies = { answer: { '/.well-known/openid-configuration': () => endless(sent) } }
    expect(reasons(await begin().catch((error: unknown) => error))).toContain('larger than')
    expect(sent.bytes).toBeLessThan(16 * mebibyte)
  })

  test('sends neither the client secret nor a code to a redirect target', async () => {
    provider.lies = { answer: { '/token': () => Response.redirect(`${provider.issuer}/canary`, 307) } }
    expect(await signIn()).toEqual({ page: '/sign-in?problem=failed', isIn: false })
    expect(provider.asked).not.toContain('/canary')
  })

  test('calls no address of the provider that the guard refuses', async () => {
    // Checked without sending a packet, even if the check is wrong.
    for (const address of ['http://169.254.169.254/token', 'http://[fd00:ec2::254]/token', 'file:///etc/passwd'])
      expect(refuseUrl(new URL(address), true)).not.toBeNull()
    const address = provider.issuer.replace('//', '//user:password@')
    for (const endpoint of ['token_endpoint', 'jwks_uri', 'userinfo_endpoint']) {
      provider.lies = { discovery: { [endpoint]: address }, claims: { email: undefined, sub: 'honest' } }
      const { finish } = await begin()
      expect(reasons(await finish().catch((error: unknown) => error))).toContain('contains a user name')
    }
  })

  test('refuses a provider with another issuer than the configured one', async () => {
    for (const issuer of ['https://elsewhere.example', `${provider.issuer}/other`, undefined]) {
      provider.lies = { discovery: { issuer } }
      expect(await begin().catch((error: unknown) => error)).toBeInstanceOf(Error)
    }
  })

  test('does not redirect a browser to a script URL', async () => {
    for (const authorization_endpoint of ['javascript:alert(1)', 'data:text/html,x', 'no address', undefined]) {
      provider.lies = { discovery: { authorization_endpoint } }
      expect(await begin().catch((error: unknown) => error)).toBeInstanceOf(Error)
    }
  })
})
