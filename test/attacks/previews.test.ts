/**
 * A hostile program in a preview, in a real browser, in the layout that favors it most: behind https, with the dashboard and
 * the previews below one registrable domain, so that the browser counts them as one site and lets them share cookies.
 */
import { afterAll, beforeAll, beforeEach, expect, setDefaultTimeout, test } from 'bun:test'
import { makeCertificate } from '@svc/git/testing'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { buildApp } from '../../packages/server/src/app.ts'
import { startDashboardSession } from '../../packages/server/src/auth/dashboard-session.ts'
import { Listener } from '../../packages/server/src/listen.ts'
import { sandboxIngress } from '../../packages/server/src/sessions/edge/sandbox-url-upgrade.ts'
import { previewIngress } from '../../packages/server/src/sessions/edge/preview.ts'
import { makeSessionApp, type RunningSession, type SessionApp } from '../../packages/server/src/sessions/testing.ts'
import { browserPath, openBrowser } from '../e2e/browser.ts'
import { until } from '../e2e/harness.ts'
import { answerAsProgram, techniques } from './preview-techniques.ts'
import { terminateTls } from './terminate-tls.ts'

setDefaultTimeout(240_000)

let app: SessionApp
let session: RunningSession
let other: RunningSession
let listener: Listener
let tls: Awaited<ReturnType<typeof terminateTls>>
let browser: Browser
let context: BrowserContext
let dashboard: string
/** The responses of the program on port 5000. */
const program: { answer(port: number, request: Request): Response | Promise<Response> } = { answer: answerAsProgram }

beforeAll(async () => {
  if (!browserPath) return
  app = await makeSessionApp({ onPort: async (port, request) => await program.answer(port, request) })
  session = await app.running()
  other = await app.running()
  listener = new Listener({ fromSandbox: false })
  const certified = makeCertificate('attack.test', { names: ['*.attack.test', '*.preview.attack.test'] })
  tls = await terminateTls(certified, await listener.onPort('127.0.0.1', 0))
  dashboard = `https://svc.attack.test:${tls.port}`
  app.deps.config.publicUrl = dashboard
  app.deps.config.previewDomain = 'preview.attack.test'
  const served = buildApp(app.deps)
  listener.answerWith(
    (request, env) => served.fetch(request, env as never),
    [previewIngress(app.deps), sandboxIngress(app.deps)],
  )
  browser = await openBrowser([
    '--host-resolver-rules=MAP *.attack.test 127.0.0.1, MAP * ~NOTFOUND',
    '--ignore-certificate-errors',
  ])
}, 240_000)
beforeEach(async () => {
  if (!browserPath) return
  await context?.close()
  context = await browser.newContext({ ignoreHTTPSErrors: true })
  program.answer = answerAsProgram
  const cookie = await startDashboardSession(app.deps, app.owner.user_id)
  const [name = '', value = ''] = cookie.split(';')[0]!.split('=')
  await context.addCookies([{ name, value, url: dashboard, httpOnly: true, secure: true, sameSite: 'Lax' }])
})
afterAll(async () => {
  await browser?.close()
  tls?.server.close()
  await listener?.close()
  await app?.close()
}, 120_000)

async function address(port: number, of = session): Promise<string> {
  const reply = await app.request<{ url: string }>('GET', `${app.path(of.session_id, 'preview')}?port=${port}`)
  return reply.body.url
}

async function open(port: number, of = session): Promise<Page> {
  const page = await context.newPage()
  await page.goto(await address(port, of))
  return page
}

/** The user that the dashboard's API sees in this browser. */
async function whoami(): Promise<string | number> {
  const page = await context.newPage()
  try {
    await page.goto(`${dashboard}/v1/ready`)
    return (await page.evaluate(
      `fetch('/v1/accounts/me').then(async (r) => r.status === 200 ? (await r.json()).user.user_id : r.status)`,
    )) as string | number
  } finally {
    await page.close()
  }
}

test.skipIf(!browserPath)(
  'a hostile program reaches neither the dashboard nor a neighbor on the same site',
  async () => {
    const neighbour = await open(4000, other)
    await neighbour.evaluate(`document.cookie = 'own=neighbour'; localStorage.setItem('own', 'neighbour')`)
    const projects = async () => (await app.request<unknown[]>('GET', '/v1/projects')).body.length
    const before = await projects()
    expect(await whoami()).toBe(app.owner.user_id)
    const page = await open(3000)
    expect(page.url()).not.toContain('svc_ticket')
    const used = await address(4000, other)
    const facts = {
      D: dashboard,
      N: new URL(neighbour.url()).origin,
      P: app.project.project_id,
      S: session.session_id,
      // A ticket for another preview that has been redeemed.
      ticket: new URL(used).search,
    }
    const got: Record<string, unknown> = {}
    for (const [name, code] of Object.entries(techniques)) got[name] = await page.evaluate(attack(code, facts))
    expect(Object.keys(techniques).length).toBeGreaterThanOrEqual(40)
    expect(got).toEqual(Object.fromEntries(Object.keys(techniques).map((name) => [name, null])))
    // The same code succeeds against its own origin, so the attack itself works.
    const own = { ...facts, D: new URL(page.url()).origin }
    for (const name of ['fetch with credentials', 'fetch, no-cors', 'worker of a shared kind'])
      expect([name, await page.evaluate(attack(techniques[name]!, own))]).not.toEqual([name, null])

    expect(await whoami()).toBe(app.owner.user_id)
    expect(await projects()).toBe(before)
    expect(
      await neighbour.evaluate(`[document.cookie.includes('own=neighbour'), localStorage.getItem('own')]`),
    ).toEqual([true, 'neighbour'])
    await neighbour.reload()
    expect(await neighbour.textContent('h1')).toBe('port 4000')
    const clean = await context.newPage()
    await clean.goto(`${dashboard}/v1/ready`)
    expect(await clean.evaluate(`navigator.serviceWorker.getRegistrations().then((all) => all.length)`)).toBe(0)
    expect(await clean.evaluate(`localStorage.length`)).toBe(0)
    // The browser's back button may show a cached page.
    await page.goto(`${dashboard}/v1/ready`)
    await page.goBack()
    await page.goForward()
    expect(await page.evaluate(`document.body.innerText.includes('port 3000')`)).toBe(false)
  },
)

test.skipIf(!browserPath)('cookies for the whole site can sign a user out, but never in as another user', async () => {
  const stranger = await app.makeUser('member')
  const forged = (await startDashboardSession(app.deps, stranger.user_id)).split(';')[0]!.split('=')[1]!
  const page = await open(3000)
  await page.evaluate(`(() => {
    const forged = ${JSON.stringify(forged)}
    for (const name of ['__Host-svc_session', '__host-svc_session', '__HOST-SVC_SESSION', 'svc_session', '__Host-svc_oidc', 'svc_oidc', '__Host-svc_preview'])
      for (const more of ['; domain=attack.test', '; domain=.attack.test; secure', '; domain=attack.test; secure; path=/v1', '; domain=svc.attack.test; secure', ''])
        for (const before of ['', '=', ' ', '\\t', '=\\t'])
          document.cookie = before + name + '=' + forged + more + (more.includes('path') ? '' : '; path=/')
    document.cookie = '$Version=1; domain=attack.test; path=/v1/accounts'
  })()`)
  expect(await whoami()).toBe(app.owner.user_id)
  // As many cookies as a browser keeps per site: the oldest go, possibly the dashboard's.
  await page.evaluate(`(() => {
    for (let n = 0; n < 400; n++) document.cookie = 'flood' + n + '=x; domain=attack.test; path=/never; secure'
    document.cookie = '=__Host-svc_session=' + ${JSON.stringify(forged)} + '; domain=attack.test; path=/; secure'
    document.cookie = 'svc_session=' + ${JSON.stringify(forged)} + '; domain=attack.test; path=/; secure'
  })()`)
  expect([app.owner.user_id, 401]).toContain(await whoami())
})

test.skipIf(!browserPath)('a service worker ends with the program that registered it', async () => {
  const hostile = (port: number, request: Request) => {
    const { pathname } = new URL(request.url)
    if (pathname.endsWith('/sw.js'))
      return new Response(
        `self.addEventListener('install', () => self.skipWaiting())
         self.addEventListener('activate', (event) => event.waitUntil(self.clients.claim()))
         self.addEventListener('fetch', (event) => event.respondWith(new Response('<h1>the worker</h1>' + event.request.url, { headers: { 'content-type': 'text/html' } })))`,
        {
          headers: {
            'content-type': 'text/javascript',
            'service-worker-allowed': '/',
            'cache-control': 'max-age=86400',
            etag: '"same"',
          },
        },
      )
    return page(port)
  }
  const page = (port: number) =>
    new Response(`<!doctype html><h1>port ${port}</h1>`, { headers: { 'content-type': 'text/html' } })
  const successors: [string, (port: number, request: Request) => Response][] = [
    [
      'has no such file',
      (port, request) => (request.url.endsWith('/sw.js') ? new Response(null, { status: 404 }) : page(port)),
    ],
    ['answers everything with its page', page],
    [
      'sends to its sign-in',
      (port, request) =>
        request.url.endsWith('/sw.js')
          ? new Response(null, { status: 302, headers: { location: '/login' } })
          : page(port),
    ],
  ]
  for (const [index, [, successor]] of successors.entries()) {
    const port = 5000 + index
    program.answer = hostile
    const tab = await open(port)
    await tab.evaluate(
      `navigator.serviceWorker.register('/sw.js', { scope: '/', updateViaCache: 'all' }).then(() => navigator.serviceWorker.ready).then(() => null)`,
    )
    await tab.goto(tab.url())
    expect(await tab.textContent('h1')).toBe('the worker')
    program.answer = successor
    // One visit, as a person makes it: the browser looks for a new script a second after the page loads, and each reload delays
    // that.
    await tab.goto(new URL('/', tab.url()).href)
    await until(
      `the worker to end, successor ${index}`,
      async () => (await tab.textContent('h1').catch(() => '')) === `port ${port}`,
      60_000,
    )
    expect(await tab.evaluate(`navigator.serviceWorker.getRegistrations().then((all) => all.length)`)).toBe(0)
    await tab.close()
  }
})

test.skipIf(!browserPath)('a service worker of the program itself continues to work', async () => {
  const tab = await open(3000)
  await tab.evaluate(
    `navigator.serviceWorker.register('/sw.js', { scope: '/' }).then(() => navigator.serviceWorker.ready).then(() => null)`,
  )
  await tab.evaluate(`navigator.serviceWorker.getRegistration().then((one) => one.update()).then(() => null)`)
  expect(await tab.evaluate(`navigator.serviceWorker.getRegistrations().then((all) => all.length)`)).toBe(1)
})

function attack(code: string, facts: Record<string, string>): string {
  return `(async () => {
    const { D, N, P, S, ticket } = ${JSON.stringify(facts)}
    const wait = (ms = 500) => new Promise((done) => setTimeout(() => done(null), ms))
    const element = (tag, attributes) => new Promise((done) => {
      const made = Object.assign(document.createElement(tag), attributes)
      made.onload = made.onerror = () => done(made)
      document.body.append(made)
      setTimeout(() => done(made), 1500)
    })
    const frame = (src) => element('iframe', { src })
    const inside = (f) => { try { return f.contentDocument && f.contentDocument.body.innerText || null } catch { return null } }
    const socket = (url) => new Promise((done) => { const ws = new WebSocket(url); ws.onopen = () => done('open'); ws.onerror = () => done(null) })
    const submit = (attributes, name, value) => {
      const target = document.createElement('iframe')
      target.name = 'into' + Math.random()
      const form = Object.assign(document.createElement('form'), { method: 'post', action: D + '/v1/projects', target: target.name, ...attributes })
      form.append(Object.assign(document.createElement('input'), { name, value }))
      document.body.append(target, form)
      form.submit()
      return wait(800)
    }
    const read = (url, init = {}) => fetch(url, { credentials: 'include', ...init }).then((r) => r.text()).then((t) => t || null)
    try { return await Promise.race([(async () => (${code}))(), wait(5000)]) ?? null } catch { return null }
  })()`
}
