/** The preview in the pane of the session page, with programs that run, do not run, and do not want to be framed. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { buildApp } from '../../packages/server/src/app.ts'
import { startDashboardSession } from '../../packages/server/src/auth/dashboard-session.ts'
import { Listener } from '../../packages/server/src/listen.ts'
import { previewIngress } from '../../packages/server/src/sessions/edge/preview.ts'
import { makeSessionApp, type RunningSession, type SessionApp } from '../../packages/server/src/sessions/testing.ts'
import { browserPath, openBrowser } from './browser.ts'
import { until } from './harness.ts'
import { expectItLooksRight, listenForComplaints, type PageStory, pictures } from './page-story.ts'

setDefaultTimeout(600_000)

let app: SessionApp
let session: RunningSession
let listener: Listener
let browser: Browser
let page: Page
let complaints: string[]
let url: string
let listening: number[] | 'unknown' = []
let answer: (port: number) => Response | null

const shop = () =>
  new Response(
    `<!doctype html><html lang="en"><title>Shop</title><meta name="viewport" content="width=device-width">
     <body style="font: 16px system-ui; margin: 2rem"><h1>Shop</h1><p>Three articles in the cart.</p><a href="/cart">Cart</a>`,
    { headers: { 'content-type': 'text/html' } },
  )

beforeAll(async () => {
  if (!browserPath) return
  app = await makeSessionApp({
    ports: () => (listening === 'unknown' ? [0] : listening),
    onPort: (port) => answer(port),
  })
  session = await app.running({ name: 'Build the shop' })
  listener = new Listener({ fromSandbox: false })
  const port = await listener.onPort('127.0.0.1', 0)
  const dashboard = `http://127.0.0.1:${port}`
  app.deps.config.publicUrl = dashboard
  const served = buildApp(app.deps)
  listener.answerWith((request, env) => served.fetch(request, env as never), [previewIngress(app.deps)])
  browser = await openBrowser()
  await mkdir(pictures, { recursive: true })
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 } })
  const [name = '', value = ''] = (await startDashboardSession(app.deps, app.owner.user_id)).split(';')[0]!.split('=')
  await context.addCookies([{ name, value, url: dashboard, httpOnly: true, sameSite: 'Lax' }])
  page = await context.newPage()
  complaints = listenForComplaints(page)
  url = `${dashboard}/projects/${app.project.slug}/sessions/${session.session_id}`
}, 240_000)
afterAll(async () => {
  await browser?.close()
  await listener?.close()
  await app?.close()
}, 120_000)

const looksRight = async (name: string) => {
  await expectItLooksRight({ page, complaints } as PageStory, name)
  // On a phone the panel is below the conversation.
  await page.setViewportSize({ width: 360, height: 800 })
  const link = page.getByRole('link', { name: 'Preview', exact: true })
  if (await link.isVisible()) await link.click()
  const path = page.getByRole('textbox', { name: 'Path in the preview' })
  if (await path.isVisible()) await until('the panel', async () => ((await path.boundingBox())?.y ?? 800) < 700)
  await page.screenshot({ path: join(pictures, `${name}-phone.png`) })
  await page.setViewportSize({ width: 1280, height: 800 })
}
const frame = (port = 3000) => page.frameLocator(`iframe[title="Preview of port ${port}"]`)

test.skipIf(!browserPath)(
  'says what is missing until a program listens, then shows it and follows its ports',
  async () => {
    answer = shop
    listening = []
    await page.goto(url)
    await page.getByRole('link', { name: 'Preview', exact: true }).click()
    await page.getByText('Nothing listens on port 3000 yet').waitFor()
    await page.getByText('npm run dev -- --port 3000').waitFor()
    await looksRight('preview-nothing')
    listening = [3000]
    await frame().getByRole('heading', { name: 'Shop' }).waitFor()
    await looksRight('preview-frame')
    listening = [3000, 5173]
    await page.getByRole('option', { name: 'Port 5173', exact: true }).waitFor({ state: 'attached' })
    await page.getByRole('combobox', { name: 'Port' }).selectOption('5173')
    await frame(5173).getByRole('heading', { name: 'Shop' }).waitFor()
    expect(new URL(page.url()).searchParams.get('port')).toBe('5173')
    await page.getByRole('combobox', { name: 'Port' }).selectOption('other')
    await page.getByRole('textbox', { name: 'Other port' }).fill('8080')
    await page.keyboard.press('Enter')
    await page.getByText('Nothing listens on port 8080 yet').waitFor()
    // It opens a tab only for what listens.
    await page.getByRole('button', { name: 'Open in a new tab' }).click({ force: true })
    await page.getByRole('status').getByText('Nothing listens on port 8080').waitFor()
    await page.reload()
    await page.getByText('Nothing listens on port 8080 yet').waitFor()
    await page.getByRole('tab', { name: 'Overview' }).click()
    expect(await page.locator('iframe').count()).toBe(0)
    expect(complaints).toEqual([])
  },
)

test.skipIf(!browserPath)('says why a program does not show', async () => {
  listening = [3000]
  answer = () => new Response('no', { headers: { 'x-frame-options': 'SAMEORIGIN' } })
  await page.goto(`${url}?panel=preview`)
  await frame().getByText('The program on port 3000 does not allow frames').waitFor()
  await looksRight('preview-refuses-frames')

  // It ends while the page is open.
  answer = () => null
  await page.getByRole('button', { name: 'Reload' }).click()
  await frame().getByText('Nothing listens on port 3000 yet').waitFor()
  await looksRight('preview-unreachable')

  // A sandbox of an earlier version does not list its ports.
  listening = 'unknown'
  answer = shop
  await page.reload()
  await frame().getByRole('heading', { name: 'Shop' }).waitFor()

  // As in a browser that keeps no cookies of frames, or after half a day.
  const kept = await page.context().cookies()
  await page.context().clearCookies({ name: /preview/ })
  await frame().getByRole('link', { name: 'Cart' }).click()
  await frame().getByText('This frame is not signed in').waitFor()
  await looksRight('preview-signed-out')
  await page.context().addCookies(kept.filter(({ name }) => !name.includes('preview')))
  await page.getByRole('button', { name: 'Reload' }).click()
  await frame().getByRole('heading', { name: 'Shop' }).waitFor()

  app.deps.config.previewDomain = 'previews.example.test'
  await page.reload()
  await page.getByText('Previews open in a new tab here').waitFor()
  expect(await page.locator('iframe').count()).toBe(0)
  await looksRight('preview-unframed')
  app.deps.config.previewDomain = 'localhost'
})

test.skipIf(!browserPath)('opens a tab instead of an empty frame at an IPv6 address, and says why', async () => {
  const { publicUrl } = app.deps.config
  const at6 = new Listener({ fromSandbox: false })
  try {
    const port = await at6.onPort('::1', 0)
    const dashboard = `http://[::1]:${port}`
    app.deps.config.publicUrl = dashboard
    const served = buildApp(app.deps)
    at6.answerWith((request, env) => served.fetch(request, env as never), [previewIngress(app.deps)])
    answer = shop
    listening = [3000]
    const [name = '', value = ''] = (await startDashboardSession(app.deps, app.owner.user_id)).split(';')[0]!.split('=')
    await page.context().addCookies([{ name, value, url: dashboard, httpOnly: true, sameSite: 'Lax' }])
    await page.goto(url.replace(publicUrl, dashboard).concat('?panel=preview'))
    await page.getByText('Browsers cannot allow a page at an IPv6 address to frame a program').waitFor()
    expect(await page.locator('iframe').count()).toBe(0)
    await looksRight('preview-unframed-ipv6')
  } finally {
    app.deps.config.publicUrl = publicUrl
    await at6.close()
  }
})

test.skipIf(!browserPath)('says that a stopped session runs no program', async () => {
  await app.request('POST', app.path(session.session_id, 'stop'))
  await page.goto(`${url}?panel=preview`)
  await page.getByText('The session is stopped, so no program runs in it').waitFor()
  await looksRight('preview-stopped')
})
