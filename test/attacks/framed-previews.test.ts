/**
 * A hostile program in the pane of the session page, in a real browser: what it does to the page around it, and what other
 * pages do to it. In each layout of the names of the dashboard and its previews, because browsers send cookies differently.
 */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { makeCertificate } from '@svc/git/testing'
import type { Browser, BrowserContext, Frame, Page } from 'playwright-core'
import { buildApp } from '../../packages/server/src/app.ts'
import { startDashboardSession } from '../../packages/server/src/auth/dashboard-session.ts'
import { Listener } from '../../packages/server/src/listen.ts'
import { previewIngress } from '../../packages/server/src/sessions/edge/preview.ts'
import { makeSessionApp, type RunningSession, type SessionApp } from '../../packages/server/src/sessions/testing.ts'
import { browserPath, openBrowser } from '../e2e/browser.ts'
import { until } from '../e2e/harness.ts'
import { terminateTls } from './terminate-tls.ts'

setDefaultTimeout(240_000)

let app: SessionApp
let session: RunningSession
let listener: Listener
let plainPort: number
let tls: Awaited<ReturnType<typeof terminateTls>>
/** A page of somebody else, by http and by https. */
const foreign: { http?: ReturnType<typeof Bun.serve>; https?: ReturnType<typeof Bun.serve> } = {}
let foreignHtml = ''
let browser: Browser
/** The documents that programs were asked for. */
let seen: string[] = []
let extraHeaders: Record<string, string> = {}

const html = (body: string, headers: Record<string, string> = {}) =>
  new Response(`<!doctype html>${body}`, { headers: { 'content-type': 'text/html', ...headers } })

const program = (port: number, request: Request): Response | null => {
  const { pathname, search } = new URL(request.url)
  const path = pathname.replace(`/proxy/${port}`, '') + search
  if (path === '/favicon.ico') return new Response(null, { status: 404 })
  seen.push(`${port}${path}`)
  if (path.startsWith('/data')) return new Response(request.method)
  // A program that frames another one.
  if (path.startsWith('/frames?'))
    return html(`<h1>frames</h1><iframe src="${decodeURIComponent(search.slice(1))}"></iframe>`)
  return html(`<h1>port ${port}</h1><a href="/two">two</a><input id="field">`, extraHeaders)
}

beforeAll(async () => {
  if (!browserPath) return
  app = await makeSessionApp({ ports: () => [3000, 4000], onPort: (port, request) => program(port, request) })
  session = await app.running({ name: 'Build the page' })
  listener = new Listener({ fromSandbox: false })
  plainPort = await listener.onPort('127.0.0.1', 0)
  const names = ['*.attack.test', '*.preview.attack.test', '*.previews.test']
  const certified = makeCertificate('attack.test', { names })
  tls = await terminateTls(certified, plainPort)
  const answer = () => html(foreignHtml)
  foreign.http = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: answer })
  foreign.https = Bun.serve({ port: 0, hostname: '127.0.0.1', tls: certified, fetch: answer })
  const served = buildApp(app.deps)
  listener.answerWith((request, env) => served.fetch(request, env as never), [previewIngress(app.deps)])
  const here = ['*.attack.test', '*.previews.test', '*.localhost', 'localhost', '127.0.0.1']
  browser = await openBrowser([
    `--host-resolver-rules=${here.map((name) => `MAP ${name} 127.0.0.1`).join(', ')}, MAP * ~NOTFOUND`,
    '--ignore-certificate-errors',
  ])
}, 240_000)
afterAll(async () => {
  await browser?.close()
  await Promise.all([foreign.http?.stop(true), foreign.https?.stop(true)])
  tls?.server.close()
  await listener?.close()
  await app?.close()
}, 120_000)

interface Layout {
  dashboard: string
  previewDomain: string
  /** A page of somebody else, as near to the dashboard as it can be. */
  neighbour: string
}
const layouts: [name: string, layout: () => Layout][] = [
  [
    'over https, with previews on the site of the dashboard',
    () => ({
      dashboard: `https://svc.attack.test:${tls.port}`,
      previewDomain: 'preview.attack.test',
      neighbour: `https://neighbour.attack.test:${foreign.https!.port}`,
    }),
  ],
  [
    'over https, with previews on a site of their own',
    () => ({
      dashboard: `https://svc.attack.test:${tls.port}`,
      previewDomain: 'previews.test',
      neighbour: `https://neighbour.attack.test:${foreign.https!.port}`,
    }),
  ],
  [
    'over http, on the machine of the server',
    () => ({
      dashboard: `http://127.0.0.1:${plainPort}`,
      previewDomain: 'localhost',
      neighbour: `http://127.0.0.1:${foreign.http!.port}`,
    }),
  ],
]

/** A signed-in browser. */
async function begin({ dashboard, previewDomain }: Layout): Promise<BrowserContext> {
  Object.assign(app.deps.config, { publicUrl: dashboard, previewDomain })
  seen = []
  extraHeaders = {}
  const context = await browser.newContext({ ignoreHTTPSErrors: true, viewport: { width: 1280, height: 800 } })
  const cookie = await startDashboardSession(app.deps, app.owner.user_id)
  const [name = '', value = ''] = cookie.split(';')[0]!.split('=')
  const secure = dashboard.startsWith('https:')
  await context.addCookies([{ name, value, url: dashboard, httpOnly: true, secure, sameSite: 'Lax' }])
  return context
}

async function openPane(context: BrowserContext, { dashboard }: Layout): Promise<{ page: Page; frame: Frame }> {
  const page = await context.newPage()
  await page.goto(`${dashboard}/projects/${app.project.slug}/sessions/${session.session_id}?panel=preview`)
  await inPane(page).getByRole('heading', { name: 'port 3000' }).waitFor()
  return { page, frame: frameOf(page) }
}

const inPane = (page: Page) => page.frameLocator('iframe[title="Preview of port 3000"]')
const frameOf = (page: Page) => page.frames().find((frame) => frame.url().includes('://3000--'))!

test.skipIf(!browserPath).each(layouts)('the pane signs in, %s', async (_, layout) => {
  const context = await begin(layout())
  const { page, frame } = await openPane(context, layout())
  expect(frame.url()).not.toContain('svc_')
  expect(await frame.evaluate('document.referrer')).toBe('')
  // Its own requests carry the cookie, also those that change something.
  for (const method of ['GET', 'POST'])
    expect(await frame.evaluate(`fetch('/data', { method: '${method}' }).then((r) => r.text())`)).toBe(method)
  await inPane(page).getByRole('link', { name: 'two' }).click()
  await until('the link to lead on', () => seen.includes('3000/two'))
  const path = page.getByRole('textbox', { name: 'Path in the preview' })
  await path.fill('/deep/er?x=1&y#part')
  await path.press('Enter')
  await until('the path', () => seen.includes('3000/deep/er?x=1&y='))
  await until('the fragment', () => frameOf(page)?.url().endsWith('/deep/er?x=1&y=#part'))
  const [tab] = await Promise.all([
    context.waitForEvent('page'),
    page.getByRole('button', { name: 'Open in a new tab' }).click(),
  ])
  await tab.getByRole('heading', { name: 'port 3000' }).waitFor()
  expect(await tab.evaluate('[opener, document.referrer]')).toEqual([null, ''])
  await context.close()
})

/** Each runs in the frame, and returns what it got hold of; null is nothing. */
const attacks: Record<string, string> = {
  'navigation of the page': `(top.location = EVIL, wait(300))`,
  'replacement of the page': `(top.location.replace(EVIL), wait(300))`,
  'a link into the page': `(link({ href: EVIL, target: '_top' }), wait(300))`,
  'a form into the page': `(form({ action: EVIL, target: '_top' }), wait(300))`,
  'reading the page': `parent.document.body.innerText`,
  'the address of the page': `parent.location.href`,
  'a frame of the page': `parent.frames[0] === window ? null : parent.frames[0].document.body.innerText`,
  'an opener': `opener`,
  'a window': `open(EVIL)`,
  'a window without an opener': `open(EVIL, '_blank', 'noopener')`,
  'a link in a window': `(link({ href: EVIL, target: '_blank' }), wait(300))`,
  'a form in a window': `(form({ action: EVIL, target: '_blank' }), wait(300))`,
  'a download': `(link({ href: 'data:text/plain,x', download: 'x.txt' }), wait(300))`,
  'a dialog': `confirm('Merge?') || null`,
  'a prompt': `prompt('Password')`,
  'a message': `(parent.postMessage({ type: 'merge' }, '*'), wait(100))`,
  'the clipboard': `navigator.clipboard.readText()`,
  'the camera': `navigator.mediaDevices.getUserMedia({ video: true }).then(() => 'camera')`,
  'the position': `new Promise((done) => navigator.geolocation.getCurrentPosition(() => done('position'), () => done(null)))`,
  'the whole screen': `document.documentElement.requestFullscreen().then(() => 'full')`,
  'the cookies of the dashboard': `document.cookie.includes('svc_') ? document.cookie : null`,
  'cookies of other sites': `document.requestStorageAccess().then(() => document.cookie.includes('svc_') ? 'cookies' : null)`,
  'the API': `fetch(D + '/v1/accounts/me', { credentials: 'include' }).then((r) => r.text())`,
  'the dashboard in a frame': `new Promise((done) => { const f = document.createElement('iframe'); f.src = D; f.onload = () => { try { done(f.contentDocument.body.innerText || null) } catch { done(null) } }; document.body.append(f); setTimeout(() => done(null), 1500) })`,
}
const attack = (code: string, dashboard: string) => `(async () => {
  const [D, EVIL] = ${JSON.stringify([dashboard, `${dashboard.replace('svc.', 'evil.')}/evil`])}
  const wait = (ms) => new Promise((done) => setTimeout(() => done(null), ms))
  const link = (attributes) => { const a = Object.assign(document.createElement('a'), attributes); document.body.append(a); a.click() }
  const form = (attributes) => { const f = Object.assign(document.createElement('form'), attributes); document.body.append(f); f.submit() }
  try { return await Promise.race([(async () => (${code}))(), wait(4000)]) ?? null } catch { return null }
})()`

test.skipIf(!browserPath).each(layouts)('a hostile program stays in its frame, %s', async (_, layout) => {
  const context = await begin(layout())
  const { page, frame } = await openPane(context, layout())
  const surprises: string[] = []
  page.on('dialog', (dialog) => {
    surprises.push('dialog')
    void dialog.dismiss()
  })
  page.on('download', () => surprises.push('download'))
  context.on('page', () => surprises.push('window'))
  const url = page.url()
  const got: Record<string, unknown> = {}
  for (const [name, code] of Object.entries(attacks)) got[name] = await frame.evaluate(attack(code, layout().dashboard))
  expect(got).toEqual(Object.fromEntries(Object.keys(attacks).map((name) => [name, null])))
  expect([surprises, page.url()]).toEqual([[], url])

  // A page that imitates a sign-in cannot take the place of the preview.
  foreignHtml = '<h1>Sign in</h1>'
  await frame.evaluate(`(location.href = ${JSON.stringify(layout().neighbour)}, null)`)
  await until('the frame to be empty', () => page.frames().some((each) => each.url().startsWith('chrome-error:')))
  expect([surprises, page.url()]).toEqual([[], url])
  await context.close()
})

const takeFocus = `(window.focus(), document.getElementById('field').focus(), null)`

test.skipIf(!browserPath)('a program that takes the focus from a field of the page gives it back', async () => {
  const [, layout] = layouts[1]!
  const context = await begin(layout())
  const { page, frame } = await openPane(context, layout())
  const typed = () => frame.evaluate(`document.getElementById('field').value`)
  const prompt = page.locator('textarea').first()
  const hasFocus = () => prompt.evaluate((field) => field === field.ownerDocument.activeElement)
  // The person goes there. That is the activation that browsers ask for.
  await inPane(page).locator('#field').click()
  await page.keyboard.type('mine')
  expect(await typed()).toBe('mine')
  await prompt.click()
  await frame.evaluate(takeFocus)
  await until('the focus to be back', hasFocus)
  await page.keyboard.type('secret')
  expect([await prompt.inputValue(), await typed()]).toEqual(['secret', 'mine'])
  // The person goes there once more, and comes back.
  const element = page.locator('iframe[title="Preview of port 3000"]')
  await inPane(page).locator('#field').hover({ force: true })
  await until('the frame to be open to the pointer', () =>
    element.evaluate((one) => !(one as { inert?: boolean }).inert),
  )
  await inPane(page).locator('#field').click()
  await page.keyboard.type(' too')
  expect(await typed()).toBe('mine too')
  await prompt.click()
  // One that does not stop gets nothing either, whether it is closed or not.
  for (let n = 0; n < 20; n++) await frame.evaluate(takeFocus).catch(() => null)
  await until('the focus to be back', hasFocus)
  await page.keyboard.type(' and more')
  expect(await prompt.inputValue()).toEndWith(' and more')
  await context.close()
})

test.skipIf(!browserPath).each(layouts)('no other page can frame a preview, %s', async (_, layout) => {
  const context = await begin(layout())
  const { page } = await openPane(context, layout())
  const preview = new URL(frameOf(page).url()).origin
  // Signed in by both cookies.
  const { url } = (await app.request<{ url: string }>('GET', app.path(session.session_id, 'preview'))).body
  const tab = await context.newPage()
  await tab.goto(url)
  await tab.getByRole('heading', { name: 'port 3000' }).waitFor()
  seen = []

  foreignHtml = `<h1>foreign</h1>${['iframe', 'object', 'embed']
    .map((tag) => `<${tag} ${tag === 'object' ? 'data' : 'src'}="${preview}/write"></${tag}>`)
    .join('')}`
  await tab.goto(layout().neighbour)
  await until('the frames to be refused', () => refused(tab) >= 1)
  expect(seen).toEqual([])

  // Another program, in a tab and in the pane.
  const { url: other } = (
    await app.request<{ url: string }>('GET', `${app.path(session.session_id, 'preview')}?port=4000`)
  ).body
  await tab.goto(other)
  await tab.goto(`${new URL(other).origin}/frames?${encodeURIComponent(`${preview}/write`)}`)
  await tab.getByRole('heading', { name: 'frames' }).waitFor()
  await until('the frame to be refused', () => refused(tab) === 1)
  await page.getByRole('combobox', { name: 'Port' }).selectOption('4000')
  const path = page.getByRole('textbox', { name: 'Path in the preview' })
  await path.fill(`/frames?${encodeURIComponent(`${preview}/write`)}`)
  await path.press('Enter')
  await page.frameLocator('iframe[title="Preview of port 4000"]').getByRole('heading', { name: 'frames' }).waitFor()
  await until('the frame in the frame to be refused', () => refused(page) === 1)
  expect(seen.filter((path) => path.startsWith('3000'))).toEqual([])
  await context.close()
})

const refused = (page: Page) => page.frames().filter((frame) => frame.url().startsWith('chrome-error:')).length

test.skipIf(!browserPath).each(layouts)(
  'says in the frame that its program allows no frames, %s',
  async (_, layout) => {
    const context = await begin(layout())
    const { page } = await openPane(context, layout())
    extraHeaders = { 'x-frame-options': 'DENY' }
    await page.getByRole('button', { name: 'Reload' }).click()
    await inPane(page).getByText('The program on port 3000 does not allow frames').waitFor()
    await context.close()
  },
)
