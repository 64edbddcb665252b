import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { createHash, randomBytes } from 'node:crypto'
import type { MintedToken } from '@svc/contract'
import { startDashboardSession } from '../auth/dashboard-session.ts'
import { sha256 } from '../auth/credentials.ts'
import { makeTestApp, type TestApp } from '../testing.ts'

let app: TestApp
beforeAll(async () => {
  app = await makeTestApp()
}, 120_000)
afterAll(() => app.close())

const makeVerifier = () => randomBytes(32).toString('base64url')
const challengeOf = (verifier: string) => createHash('sha256').update(verifier).digest('base64url')
const browser = async () => ({
  cookie: (await startDashboardSession(app.deps, app.owner.user_id)).split(';')[0]!,
  origin: app.deps.config.publicUrl,
})

async function approve(verifier: string, headers?: Record<string, string>) {
  const body = { challenge: challengeOf(verifier), name: 'ada@laptop' }
  const options = { token: null, headers: headers ?? (await browser()), body }
  return app.request<{ code: string; expires_at: string }>('POST', '/v1/accounts/cli-logins', options)
}
const redeem = (code: string, verifier: string) =>
  app.request<MintedToken>('POST', '/v1/cli-logins/redeem', { token: null, body: { code, verifier } })

describe('signing in a terminal', () => {
  test('ends with a user token that the client mints itself', async () => {
    const verifier = makeVerifier()
    const before = Date.now()
    const approved = await approve(verifier)
    expect(approved.status).toBe(201)
    const approvedAt = Date.parse(approved.body.expires_at) - 60_000
    expect([before <= approvedAt, approvedAt <= Date.now()]).toEqual([true, true])
    const redeemed = await redeem(approved.body.code, verifier)
    expect([redeemed.status, redeemed.body.project_id, redeemed.body.session_id]).toEqual([200, null, null])
    expect(Date.parse(redeemed.body.expires_at!) - Date.now()).toBeLessThanOrEqual(60_000)
    const minted = await app.request<MintedToken>('POST', '/v1/accounts/tokens', {
      token: redeemed.body.secret_key,
      body: { name: 'ada@laptop' },
    })
    expect([minted.status, minted.body.expires_at]).toEqual([201, null])
    const path = `/v1/accounts/tokens/${redeemed.body.token_id}`
    expect((await app.request('DELETE', path, { token: minted.body.secret_key })).status).toBe(200)
    expect((await app.request('GET', '/v1/token', { token: redeemed.body.secret_key })).status).toBe(401)
    expect((await app.request('GET', '/v1/token', { token: minted.body.secret_key })).status).toBe(200)
  })

  test('names the token after the machine, also when the name is long', async () => {
    const verifier = makeVerifier()
    const name = `ada@${'x'.repeat(96)}`
    const { body } = await app.request<{ code: string }>('POST', '/v1/accounts/cli-logins', {
      token: null,
      headers: await browser(),
      body: { challenge: challengeOf(verifier), name },
    })
    expect((await redeem(body.code, verifier)).body.name).toBe(`sign-in of ${name}`.slice(0, 100))
  })

  test('the code works once, however many requests use it concurrently', async () => {
    const verifier = makeVerifier()
    const { code } = (await approve(verifier)).body
    const replies = await Promise.all(Array.from({ length: 20 }, () => redeem(code, verifier)))
    expect(replies.map((reply) => reply.status).toSorted()).toEqual([200, ...Array(19).fill(401)])
  })

  test('a code without the verifier is useless, and the attempt ends the sign-in', async () => {
    const verifier = makeVerifier()
    const { code } = (await approve(verifier)).body
    expect((await redeem(code, makeVerifier())).status).toBe(401)
    expect((await redeem(code, verifier)).status).toBe(401)
  })

  test('the sign-in expires after a minute', async () => {
    const verifier = makeVerifier()
    const { code } = (await approve(verifier)).body
    await app.deps.db
      .updateTable('cli_logins')
      .set({ expires_at: new Date(Date.now() - 1) })
      .where('sha256', '=', sha256(code))
      .execute()
    expect((await redeem(code, verifier)).status).toBe(401)
  })

  test('requires a click on our own page, not a token or another site', async () => {
    const verifier = makeVerifier()
    const body = { challenge: challengeOf(verifier), name: 'x' }
    expect((await app.request('POST', '/v1/accounts/cli-logins', { body })).status).toBe(403)
    const own = await browser()
    for (const foreign of [
      { ...own, origin: 'http://evil.test' },
      { ...own, 'sec-fetch-site': 'cross-site' },
      { ...own, 'sec-fetch-site': 'same-site', origin: 'http://3000--x.localhost' },
      { cookie: own.cookie },
    ])
      expect((await approve(verifier, foreign)).status).toBe(403)
  })

  test('stores the code as a hash', async () => {
    const { code } = (await approve(makeVerifier())).body
    const rows = await app.deps.db.selectFrom('cli_logins').selectAll().execute()
    expect(JSON.stringify(rows)).not.toContain(code)
  })
})
