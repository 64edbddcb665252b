import { afterAll, beforeAll, expect, test } from 'bun:test'
import { routes } from '@svc/contract/openapi'
import { makeTestApp, type TestApp } from '../testing.ts'

let app: TestApp
beforeAll(async () => {
  app = await makeTestApp()
}, 120_000)
afterAll(() => app.close())

const get = (path: string, headers: Record<string, string> = {}) => app.request('GET', path, { token: null, headers })

test('serves the docs site without a sign-in, under a policy without inline scripts and foreign hosts', async () => {
  const { status, headers, text } = await get('/docs/')
  expect(status).toBe(200)
  expect(headers.get('content-type')).toContain('text/html')
  const policy = headers.get('content-security-policy')!
  expect(policy).toContain("default-src 'none'; script-src 'self'; style-src 'self' 'sha256-")
  expect(policy).not.toMatch(/unsafe-eval|http|\*/)
  expect(text).not.toMatch(
    /<script(?![^>]*\bsrc=)|<style|\son\w+=|javascript:|https?:\/\/(?!127\.0\.0\.1|localhost)[^"]+\.(?:js|css|woff2?)/i,
  )
  for (const [, file] of text.matchAll(/(?:src|href)="(\/docs\/assets\/[^"]+)"/g)) {
    const asset = await get(file!)
    expect(asset.status).toBe(200)
    expect(asset.headers.get('cache-control')).toContain('immutable')
  }
})

test('finds a page with and without `.html`, and a folder by its index', async () => {
  expect((await get('/docs')).headers.get('location')).toBe('/docs/')
  for (const path of ['/docs/guide/client.html', '/docs/guide/client', '/docs/guide/', '/docs/api'])
    expect((await get(path)).status).toBe(200)
  const browser = { accept: 'text/html' }
  expect((await get('/docs/no-such-page', browser)).status).toBe(404)
  expect((await get('/docs/no-such-page', browser)).headers.get('content-type')).toContain('text/html')
  expect((await get('/docs/assets/none.js', browser)).text).toContain('"code":"not_found"')
  expect((await get('/docs/', { host: 'evil.test' })).status).toBe(403)
})

test('the API reference lists every route of the contract, each with its own section', async () => {
  const { text } = await get('/docs/api/')
  const links = new Map(
    [...text.matchAll(/<a href="([^"]+)"[^>]*><code>([^<]+)<\/code>/g)].map(([, href, name]) => [name!, href!]),
  )
  const pages = new Map<string, string>()
  for (const { method, path, name } of routes) {
    const route = `${method} ${path.replaceAll(/:([A-Za-z]+)/g, '{$1}')}`
    const href = links.get(route)
    if (href === undefined) throw new Error(`/docs/api/ does not list ${route} (${name}): run npm run build`)
    const [page, anchor] = new URL(href, 'http://127.0.0.1/docs/api/').href.slice('http://127.0.0.1'.length).split('#')
    if (!pages.has(page!)) pages.set(page!, (await get(page!)).text)
    expect(pages.get(page!)).toContain(`id="${anchor}"`)
  }
})
