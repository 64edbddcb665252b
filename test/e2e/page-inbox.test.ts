/** A person goes through their inbox by keyboard: items that are done, snoozed, undone, and come back, in one request. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdir, mkdtemp } from 'node:fs/promises'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { browserPath, openBrowser } from './browser.ts'
import { git, makeFirstCommit, Server } from './harness.ts'
import { axeViolations, expectItFits, pictures } from './page-story.ts'

let server: Server
let browser: Browser
let page: Page
let clone: string
let project: { project_id: string; slug: string }
const sent: string[] = []

beforeAll(async () => {
  if (!browserPath) return
  await mkdir(pictures, { recursive: true })
  server = await Server.start({ SVC_SANDBOX_DRIVER: 'none' })
  project = await server.json(['projects', 'create', '--name', 'payments-api'])
  await server.json(['projects', 'create', '--name', 'web'])
  await makeFirstCommit(server, project.project_id)
  const url = new URL(`${server.url}/v1/projects/${project.project_id}/git`)
  url.username = 'x-access-token'
  url.password = server.token
  clone = await mkdtemp(join(server.dir, 'clone-'))
  await git(clone, 'clone', '--quiet', url.href, '.')
  await push('alpha', { 'alpha.txt': 'one\ntwo\nthree\n' })
  await push('beta', { 'both.txt': 'beta\n' })
  await push('gamma', { 'both.txt': 'gamma\n' })
  for (const [head, title] of [
    ['alpha', 'Retry webhook deliveries with backoff'],
    ['beta', 'Move invoice totals to integer cents'],
    ['gamma', 'Rename Customer.tier to Customer.plan'],
  ] as const)
    await server.json(['cr', 'open', '--title', title, '--head', head, '--project', project.project_id])
  browser = await openBrowser()
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, colorScheme: 'dark' })
  page = await context.newPage()
  page.on('request', (request) => sent.push(new URL(request.url()).pathname))
  await page.goto(/(http:\/\/\S+\/sign-in#\S+)/.exec(server.output)?.[1] ?? '')
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('heading', { name: 'Inbox' }).waitFor()
}, 180_000)

afterAll(async () => {
  await browser?.close()
  await server?.end()
}, 120_000)

async function push(branch: string, files: Record<string, string>): Promise<void> {
  await git(clone, 'checkout', '--quiet', '-B', branch, 'origin/main')
  for (const [path, text] of Object.entries(files)) await Bun.write(join(clone, path), text)
  await git(clone, 'add', '.')
  await git(clone, 'commit', '--quiet', '-m', branch)
  await git(clone, 'push', '--quiet', '--force', 'origin', branch)
}

const row = (title: string) => page.getByRole('listitem').filter({ has: page.getByRole('link', { name: title }) })
const focused = () => page.evaluate(() => document.activeElement?.textContent ?? '')
const alpha = 'Retry webhook deliveries with backoff'
const beta = 'Move invoice totals to integer cents'
const gamma = 'Rename Customer.tier to Customer.plan'

test.skipIf(!browserPath)(
  'says in one request why each item is there, and no request is for one change request',
  async () => {
    await row(alpha).getByText('ready').waitFor()
    await row(alpha).getByText('Touches alpha.txt · nothing collides').waitFor()
    // The link covers the row, so its title shows what does not fit.
    const title = await row(alpha).getByRole('link', { name: alpha }).getAttribute('title')
    expect(title).toBe(`${alpha}\nTouches alpha.txt · nothing collides`)
    await row(alpha).getByText('+3').waitFor()
    await row(beta).getByText('collides with #3 in both.txt').waitFor()
    await page.reload()
    const url = page.url()
    // The page before it sends one more for its stream that ends.
    await page.goto('about:blank')
    sent.length = 0
    await page.goto(url)
    await row(alpha).getByText('ready').waitFor()
    const read = sent.filter((path) => path.startsWith('/v1/'))
    // The second one closes the gap between the answer and the stream.
    expect(read.filter((path) => path === '/v1/inbox').length).toBeLessThanOrEqual(2)
    expect(read.filter((path) => path.includes('change-requests'))).toEqual([])
    // Nothing waits for the notices.
    const first = new Set(read.slice(0, read.indexOf('/v1/inbox') + 1))
    first.delete('/v1/accounts/notices')
    expect([...first].toSorted()).toEqual(['/v1/accounts/me', '/v1/inbox', '/v1/projects'])
  },
  120_000,
)

test.skipIf(!browserPath)(
  'what stands at the right of each row is in columns, whatever a row lacks',
  async () => {
    await page.route(/\/v1\/inbox(\?|$)/, async (route) => {
      const reply = await route.fetch()
      if (!reply.headers()['content-type']?.includes('json')) return route.fulfill({ response: reply })
      const answer = (await reply.json()) as { items: object[] }
      const items = answer.items.map((item, at) => ({
        ...item,
        ...(at === 0 ? { author: null, session: null } : {}),
        updated_at: new Date(Date.now() - (at === 1 ? 11 * 60_000 : 0)).toISOString(),
      }))
      await route.fulfill({ response: reply, json: { ...answer, items } })
    })
    await page.reload()
    await page.getByRole('listitem').getByText('11 minutes ago').waitFor()
    for (const part of ['time', 'i:last-child']) {
      const ends = await page
        .locator(`main li ${part}`)
        .evaluateAll((all) => all.map((each) => Math.round(each.getBoundingClientRect().right)))
      expect(ends).toHaveLength(3)
      expect([part, new Set(ends).size]).toEqual([part, 1])
    }
    await page.unrouteAll({ behavior: 'wait' })
    await page.reload()
    await row(alpha).waitFor()
  },
  120_000,
)

test.skipIf(!browserPath)(
  'marks as done by key, undoes it, and shows it again after new commits',
  async () => {
    await page.keyboard.press('j')
    expect(await focused()).toBe(gamma)
    await page.keyboard.press('j')
    await page.keyboard.press('j')
    expect(await focused()).toBe(alpha)
    await page.keyboard.press('k')
    expect(await focused()).toBe(beta)
    await page.keyboard.press('j')
    await page.keyboard.press('e')
    await row(alpha).waitFor({ state: 'detached' })
    await page.getByText(`Marked “${alpha}” as done`).waitFor()
    expect(await focused()).toBe(beta)
    await page.keyboard.press('z')
    await page.getByRole('link', { name: alpha }).and(page.locator(':focus')).waitFor()
    await page.keyboard.press('e')
    await row(alpha).waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'Undo' }).press('Enter')
    await page.getByRole('link', { name: alpha }).and(page.locator(':focus')).waitFor()
    await row(alpha).hover()
    await row(alpha)
      .getByRole('button', { name: `Mark “${alpha}” as done` })
      .click()
    await row(alpha).waitFor({ state: 'detached' })
    await page.getByRole('link', { name: 'Done 1' }).waitFor()
    await push('alpha', { 'alpha.txt': 'four\n' })
    await row(alpha).waitFor()
  },
  120_000,
)

test.skipIf(!browserPath)(
  'gives the palette what is typed from its key on, while its code still loads, and no key to the inbox',
  async () => {
    const held = Promise.withResolvers<void>()
    await page.route(/palette/, async (route) => {
      await held.promise
      await route.continue()
    })
    await page.reload()
    await row(alpha).waitFor()
    await page.mouse.move(0, 0)
    await page.keyboard.press('j')
    expect(await focused()).toBe(alpha)
    await page.keyboard.press('Control+k')
    await page.keyboard.type('rename me')
    held.resolve()
    const field = page.getByRole('combobox', { name: 'Search or jump to' })
    await field.and(page.locator(':focus')).waitFor()
    await page.keyboard.type(' h')
    expect(await field.inputValue()).toBe('rename me h')
    await page.keyboard.press('Escape')
    await field.waitFor({ state: 'detached' })
    expect(await focused()).toBe(alpha)
    await page.unrouteAll({ behavior: 'wait' })
    // Escape before the field is there closes it, and the keys are the page's again.
    await page.keyboard.press('Control+k')
    await page.keyboard.type('e')
    await page.keyboard.press('Escape')
    await field.waitFor({ state: 'detached' })
    // No key acts on the inbox behind a dialog.
    await page.keyboard.press('?')
    await page.keyboard.press('e')
    await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor()
    await page.keyboard.press('e')
    await page.keyboard.press('Escape')
    await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor({ state: 'detached' })
    await row(alpha).waitFor()
    expect(await page.getByText(/as done$/).count()).toBe(0)
  },
  120_000,
)

test.skipIf(!browserPath)(
  'outlines the whole selected row once, and its buttons replace the name of its action',
  async () => {
    await page.getByRole('link', { name: alpha }).focus()
    await page.mouse.move(0, 0)
    await page.keyboard.press('j')
    await page.keyboard.press('k')
    expect(await focused()).toBe(alpha)
    const outlines = await page.evaluate(() => {
      const accent = getComputedStyle(document.documentElement).getPropertyValue('--color-accent')
      const probe = document.body.appendChild(document.createElement('i'))
      probe.style.color = accent
      const { color } = getComputedStyle(probe)
      probe.remove()
      const link = document.activeElement!
      const around = getComputedStyle(link, '::after')
      return [getComputedStyle(link).outlineStyle, around.outlineStyle, around.outlineColor === color]
    })
    expect(outlines).toEqual(['none', 'solid', true])
    await row(alpha).getByText('Review', { exact: true }).waitFor({ state: 'hidden' })
    await row(gamma).getByText('Review', { exact: true }).waitFor()
  },
  120_000,
)

test.skipIf(!browserPath)(
  'snoozes by key until a chosen time, and returns an item from the list of snoozed ones',
  async () => {
    await page.getByRole('link', { name: gamma }).focus()
    await page.keyboard.press('h')
    await page.getByRole('menuitem', { name: /Tomorrow/ }).waitFor()
    expect(await axeViolations(page)).toEqual([])
    await page.getByRole('menuitem', { name: /Tomorrow/ }).press('Enter')
    await row(gamma).waitFor({ state: 'detached' })
    await page.locator('li a:focus').waitFor()
    await page.getByRole('link', { name: 'Snoozed 1' }).click()
    await page.getByRole('heading', { name: 'Snoozed' }).waitFor()
    await row(gamma).hover()
    await row(gamma).getByRole('button', { name: 'Return to inbox' }).click()
    await page.getByText('Nothing is snoozed.').waitFor()
    // Nothing of the list is left.
    await page.getByRole('heading', { name: 'Snoozed' }).and(page.locator(':focus')).waitFor()
    await page.getByRole('link', { name: 'Back to inbox' }).click()
    await row(gamma).waitFor()
  },
  120_000,
)

test.skipIf(!browserPath)(
  'offers each time to snooze until once, and as today only what is today',
  async () => {
    // The clock is the context's.
    const context = await browser.newContext({ storageState: await page.context().storageState() })
    const there = await context.newPage()
    const offered = async (day: string, time = '10:00') => {
      await there.clock.setFixedTime(new Date(`${day}T${time}:00`))
      await there.goto(server.url)
      await there.getByRole('link', { name: gamma }).focus()
      await there.keyboard.press('h')
      await there.getByRole('menuitem').first().waitFor()
      const texts = await there.getByRole('menuitem').allTextContents()
      const days = texts.map((text) => text.replace(/(?<=Sat|Sun|Mon).*/, ''))
      expect(new Set(texts.map((text) => text.replace(/^(Later today|Tomorrow|Next week)/, ''))).size).toBe(days.length)
      return days
    }
    expect(await offered('2026-11-28')).toEqual(['Later todaySat', 'TomorrowSun', 'Next weekMon'])
    // The tomorrow of a Sunday is the Monday of next week.
    expect(await offered('2026-11-29')).toEqual(['Later todaySun', 'TomorrowMon'])
    expect(await offered('2026-11-28', '20:59')).toEqual(['Later todaySat', 'TomorrowSun', 'Next weekMon'])
    expect(await offered('2026-11-28', '21:00')).toEqual(['TomorrowSun', 'Next weekMon'])
    await context.close()
  },
  120_000,
)

test.skipIf(!browserPath)(
  'shows a snoozed item again when its time has come, while the page stays open',
  async () => {
    await page.route('**/v1/inbox/*', (route) => {
      if (route.request().method() !== 'PUT') return route.continue()
      const asked = route.request().postDataJSON() as { version: string }
      return route.continue({ postData: { ...asked, until: new Date(Date.now() + 3_000).toISOString() } })
    })
    await page.getByRole('link', { name: gamma }).focus()
    await page.keyboard.press('h')
    await page.getByRole('menuitem', { name: /Tomorrow/ }).click()
    await row(gamma).waitFor({ state: 'detached' })
    await page.getByRole('link', { name: 'Snoozed 1' }).waitFor()
    await row(gamma).waitFor()
    await page.unrouteAll()
  },
  120_000,
)

test.skipIf(!browserPath)(
  'lists its keys, filters by project, and fits every width in both themes without an axe violation',
  async () => {
    await page.keyboard.press('?')
    await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor()
    expect(await axeViolations(page)).toEqual([])
    await page.keyboard.press('Escape')
    for (const colorScheme of ['light', 'dark'] as const)
      for (const width of [1440, 900, 360]) {
        await page.emulateMedia({ colorScheme })
        await page.setViewportSize({ width, height: 900 })
        expect([width, colorScheme, await axeViolations(page)]).toEqual([width, colorScheme, []])
        expect(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth)).toBe(true)
        await page.screenshot({ path: join(pictures, `inbox-${width}-${colorScheme}.png`) })
      }
    await page.setViewportSize({ width: 1440, height: 900 })
    await page.getByRole('combobox', { name: 'Filter by project' }).selectOption('web')
    await page.getByRole('heading', { name: 'Nothing needs you right now' }).waitFor()
    expect(await axeViolations(page)).toEqual([])
    await page.screenshot({ path: join(pictures, 'inbox-empty.png') })
    await page.getByRole('combobox', { name: 'Filter by project' }).selectOption('payments-api')
    await page.getByRole('link', { name: alpha }).focus()
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: new RegExp(alpha) }).waitFor()
  },
  180_000,
)

test.skipIf(!browserPath)(
  'shows the inbox after Back as it was left: its selected item with the focus, and its place',
  async () => {
    // So low that the last item is below the screen.
    await page.setViewportSize({ width: 1440, height: 240 })
    await page.goto(server.url)
    await row(alpha).waitFor()
    await page.mouse.move(0, 0)
    const order = await page.getByRole('main').getByRole('listitem').getByRole('link').allTextContents()
    const last = order.at(-1)!
    for (const _ of order) await page.keyboard.press('j')
    expect(await focused()).toBe(last)
    const scrolled = await page.evaluate(() => Math.round(scrollY))
    expect(scrolled).toBeGreaterThan(0)
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: new RegExp(last) }).waitFor()
    await page.goBack()
    await page.getByRole('link', { name: last }).and(page.locator(':focus')).waitFor()
    await page.waitForFunction((top) => Math.round(scrollY) === top, scrolled)
    await page.keyboard.press('k')
    expect(await focused()).toBe(order.at(-2)!)
    // Another visit begins anew.
    await page.getByRole('link', { name: 'Projects', exact: true }).first().click()
    await page.getByRole('heading', { name: 'Projects' }).waitFor()
    await page.getByRole('link', { name: 'Inbox' }).first().click()
    await row(alpha).waitFor()
    await page.keyboard.press('j')
    expect(await focused()).toBe(order[0]!)
    await page.setViewportSize({ width: 1440, height: 900 })
  },
  120_000,
)

test.skipIf(!browserPath)(
  'the projects say what is open and how much needs the person, in one request for all of them',
  async () => {
    // The page before it saves its state when it is left.
    await page.goto('about:blank')
    sent.length = 0
    await page.goto(`${server.url}/projects`)
    const ofProject = (name: string) =>
      page
        .getByRole('list', { name: 'Projects' })
        .getByRole('listitem')
        .filter({ has: page.getByRole('link', { name, exact: true }) })
    await ofProject('payments-api').getByRole('link', { name: '3 open change requests' }).waitFor()
    await ofProject('web').getByText('Nothing open').waitFor()
    // None for a single project. A change that arrives meanwhile repeats one.
    const ofLists = sent.filter((path) => /^\/v1\/(inbox|projects)(\/(?!events)|$)/.test(path))
    expect([...new Set(ofLists)].sort()).toEqual(['/v1/inbox/projects', '/v1/projects'])
    for (const width of [360, 1024, 1440]) {
      await page.setViewportSize({ width, height: 900 })
      await expectItFits(page)
      await page.screenshot({ path: join(pictures, `projects-open-${width}.png`) })
    }
    // A change in any project shows without another visit.
    await server.json(['cr', 'close', '3', '--project', project.project_id])
    await ofProject('payments-api').getByRole('link', { name: '2 open change requests' }).waitFor()
    await ofProject('payments-api')
      .getByRole('link', { name: / need(s)? you in payments-api$/ })
      .click()
    await page.getByRole('heading', { name: 'Inbox' }).waitFor()
    expect(await page.getByRole('combobox', { name: 'Filter by project' }).inputValue()).toBe(project.slug)
  },
  180_000,
)
