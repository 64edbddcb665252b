import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { makeTestApp, type TestApp } from '../testing.ts'

let app: TestApp
beforeAll(async () => {
  app = await makeTestApp()
}, 120_000)
afterAll(() => app.close())

const get = (path: string, headers: Record<string, string> = {}) => app.request('GET', path, { token: null, headers })
const pages = [
  '/',
  '/sign-in',
  '/authorize',
  '/projects',
  '/projects/any/change-requests/1',
  '/account/tokens',
] as const

/** The files the document names: they were built by `npm run build`, which `npm test` runs first. */
async function filesOfDocument(): Promise<string[]> {
  const { text } = await get('/')
  return [...text.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, target]) => target!)
}

describe('the pages of the dashboard', () => {
  test('serves one document with its own scripts and styles', async () => {
    const files = await filesOfDocument()
    expect(files.length).toBeGreaterThan(1)
    for (const file of files) {
      expect(file).toStartWith('/assets/')
      const { status, headers } = await get(file)
      expect(status).toBe(200)
      expect(headers.get('cache-control')).toContain('immutable')
      expect(headers.get('content-security-policy')).toContain("default-src 'none'")
      expect(headers.get('x-content-type-options')).toBe('nosniff')
    }
    expect((await get('/assets/no-such-file.js')).status).toBe(404)
  })

  test('comes with the empty frame only where the shell follows', async () => {
    const signedIn = { cookie: 'svc_session=any' }
    expect((await get('/projects', signedIn)).text).toContain('id="frame"')
    expect((await get('/projects')).text).not.toContain('id="frame"')
    expect((await get('/sign-in', signedIn)).text).not.toContain('id="frame"')
  })

  test('answers an unknown path with a page for browsers and an error for programs', async () => {
    const browser = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' }
    const page = await get('/nowhere', browser)
    expect(page.status).toBe(404)
    expect(page.text).toContain('<div id="root"></div>')
    expect(page.headers.get('content-security-policy')).toContain("default-src 'none'")
    for (const path of ['/v1/nowhere', '/v1', '/assets/no.js', '/install/nothing'])
      expect((await get(path, browser)).text).toContain('"code":"')
    expect((await get('/nowhere')).text).toContain('"code":"not_found"')
    expect((await get('/nowhere', { ...browser, host: 'evil.test' })).status).toBe(403)
  })

  test('the first page loads at most 200 KB of compressed JavaScript', async () => {
    const needed = new Set((await filesOfDocument()).filter((file) => file.endsWith('.js')))
    let total = 0
    // A file loads its top-level imports with it; the set grows during the walk.
    for (const file of needed) {
      const { text } = await get(file)
      total += Bun.gzipSync(text).byteLength
      for (const [, name] of text.matchAll(/(?:from|import)\s*["']\.\/([\w.-]+\.js)["']/g))
        needed.add(`/assets/${name}`)
    }
    expect(total).toBeGreaterThan(20_000)
    expect(total).toBeLessThanOrEqual(200_000)
  })

  test('uses a new nonce for each reply', async () => {
    const nonces = await Promise.all(
      [1, 2].map(async () => {
        const { text, headers } = await get('/')
        const nonce = /name="csp-nonce" content="([^"]+)"/.exec(text)?.[1]
        expect(headers.get('content-security-policy')).toContain(`'nonce-${nonce}'`)
        return nonce
      }),
    )
    expect(nonces[0]).not.toBe(nonces[1])
  })

  test.each(pages)('the policy of %s allows only our own sources, and frames of previews', async (path) => {
    const { status, headers, text } = await get(path)
    expect(status).toBe(200)
    expect(text).toContain('<div id="root"></div>')
    const policy = new Map(
      headers
        .get('content-security-policy')!
        .split('; ')
        .map((part): [string, string] => [part.split(' ')[0]!, part.split(' ').slice(1).join(' ')]),
    )
    expect(policy.get('default-src')).toBe("'none'")
    expect(policy.get('script-src')).toBe("'self'")
    expect(policy.get('frame-ancestors')).toBe("'none'")
    expect(policy.get('base-uri')).toBe("'none'")
    expect(policy.get('form-action')).toBe("'none'")
    expect(policy.get('style-src')).toMatch(/^'self' 'nonce-[^']+'$/)
    expect(policy.get('img-src')).toBe("'self' blob:")
    // Previews, and nothing else.
    expect(policy.get('frame-src')).toBe('http://*.localhost:8420')
    for (const name of ['style-src-attr', 'frame-src']) policy.delete(name)
    expect([...policy.values()].join(' ')).not.toMatch(/unsafe|\*|http|data:/)
    expect(headers.get('x-content-type-options')).toBe('nosniff')
    expect(headers.get('referrer-policy')).toBe('no-referrer')
  })

  test('contains no inline script or style, which the policy would refuse', async () => {
    const { text } = await get('/')
    expect(text).not.toMatch(/<script(?![^>]*\bsrc=)|<style|\son\w+=|style=|javascript:/i)
  })

  test.each(['evil.test', 'localhost.evil.test', '127.0.0.1.evil.test:8420', ''])(
    'refuses the host name %j',
    async (host) => {
      for (const path of [...pages, '/v1/health']) {
        const reply = await get(path, { host })
        expect(reply.status).toBe(403)
        expect(reply.text).not.toContain('<html')
      }
    },
  )
})

describe('signing in by a link', () => {
  test('signs in with a click, sets a cookie, and removes the code from the URL', async () => {
    const signedInBefore = { token: null, headers: await app.browser() }
    const { body } = await app.request<{ url: string }>('POST', '/v1/accounts/owner-links', signedInBefore)
    const link = new URL(body.url)
    expect((await get(link.pathname)).text).toContain('/assets/')
    const origin = { origin: app.deps.config.publicUrl }
    const signedIn = await app.request('POST', '/v1/sign-in', {
      token: null,
      body: { code: link.hash.slice(1) },
      headers: { ...origin, 'sec-fetch-site': 'same-origin' },
    })
    expect(signedIn.text).toBe('{"ok":true}')
    const cookie = signedIn.headers.getSetCookie()[0]!
    expect(cookie).toContain('HttpOnly')
    expect(cookie).toContain('SameSite=Lax')
    // A request of the page, with the headers of a browser.
    const headers = { cookie: cookie.split(';')[0]!, 'sec-fetch-site': 'same-origin' }
    for (const path of ['/v1/accounts/me', '/v1/projects?limit=50']) expect((await get(path, headers)).status).toBe(200)
    // A request that another page causes in the same browser.
    for (const foreign of [
      { ...headers, origin: 'http://evil.test' },
      { ...headers, 'sec-fetch-site': 'cross-site' },
      { ...headers, 'sec-fetch-site': 'same-site', origin: 'http://app.localhost' },
    ] as Record<string, string>[])
      expect((await get('/v1/accounts/me', foreign)).status).toBe(403)
  })
})
