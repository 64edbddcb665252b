/** The panel of a change request and the list, in a browser: what may land, what a person confirms, and that nothing moves. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdtemp } from 'node:fs/promises'
import { join } from 'node:path'
import { browserPath } from './browser.ts'
import { git } from './harness.ts'
import { axeViolations, beginPageStory, expectItFits, gatewayOf, type PageStory, pictures } from './page-story.ts'

let story: PageStory
let clone: string
let project: { project_id: string; slug: string }
const slow = { timeout: 60_000 }
const widths = [1440, 900, 360]
const connector = (host: string) =>
  `[[connectors]]\nslug = "hooks"\ntype = "http"\nurl = "https://${host}/mcp"\nauth = { type = "bearer", secret_env = "STRIPE_KEY" }\n`
const trigger = (cron: string) =>
  `[[triggers]]\nslug = "nightly-retry"\ntype = "cron"\ncron = "${cron}"\nprompt = "Retry"\ntimezone = "Europe/Zagreb"\n`

beforeAll(async () => {
  if (!browserPath) return
  story = await beginPageStory({ SVC_SANDBOX_DRIVER: 'none' }, { viewport: { width: 1440, height: 900 } })
  const { server } = story
  project = await server.json(['projects', 'create', '--name', 'payments-api'])
  clone = await mkdtemp(join(server.dir, 'clone-'))
  await git(clone, 'init', '--quiet', '--initial-branch=main')
  await git(clone, 'remote', 'add', 'origin', gatewayOf(server, project))
  await commit('main', { 'a.txt': 'a\n', 'b.txt': 'b\n', 'svc.toml': `svc_version = 1\n\n${trigger('0 6 * * *')}` })
  await git(clone, 'push', '--quiet', 'origin', 'main')
}, 180_000)
afterAll(() => story?.end(), 120_000)

async function commit(branch: string, files: Record<string, string>): Promise<void> {
  for (const [path, text] of Object.entries(files)) await Bun.write(join(clone, path), text)
  await git(clone, 'add', '.')
  await git(clone, 'commit', '--quiet', '-m', `On ${branch}: ${Object.keys(files).join(', ')}`)
}

async function propose(branch: string, files: Record<string, string>, title: string): Promise<number> {
  await git(clone, 'fetch', '--quiet', 'origin')
  await git(clone, 'checkout', '--quiet', '-B', branch, 'origin/main')
  await commit(branch, files)
  await git(clone, 'push', '--quiet', 'origin', branch)
  const { number } = await story.server.json<{ number: number }>([
    ...['cr', 'open', '--title', title, '--head', branch, '--project', project.project_id],
  ])
  return number
}

const address = (path: string) => `${story.server.url}/projects/${project.slug}/change-requests${path}`
const mergeButton = () => story.page.getByRole('button', { name: 'Merge into main' })
/** Where the button is in the panel, which scrolls by itself. */
async function boxOf() {
  const { x, y, width, height } = (await mergeButton().boundingBox())!
  const scrolled = await story.page.getByRole('complementary', { name: 'Landing' }).evaluate((panel) => panel.scrollTop)
  return { x, y: y + scrolled, width, height }
}

/** In both themes and three widths, without an axe violation and nothing wider than the screen. */
async function look(name: string): Promise<void> {
  const { page, complaints } = story
  const found: string[] = []
  const before = complaints.length
  for (const colorScheme of ['dark', 'light'] as const)
    for (const width of widths.toReversed()) {
      await page.setViewportSize({ width, height: 900 })
      await page.emulateMedia({ colorScheme })
      await expectItFits(page)
      await page.screenshot({ path: join(pictures, `${name}-${colorScheme}-${width}.png`) })
      if (width !== 900) found.push(...(await axeViolations(page)))
    }
  // Axe itself tries inline styles.
  complaints.length = before
  expect(found).toEqual([])
}

test.skipIf(!browserPath)(
  'the merge button keeps its place while answers arrive, and waits for a confirmed effect and a set secret',
  async () => {
    const { page, server } = story
    const manifest = `svc_version = 1\n\n[env]\nrequired = ["API_KEY"]\n\n${trigger('0 */2 * * *')}\n${connector('hooks.stripe.example')}`
    const number = await propose(
      'webhook-retries',
      { 'svc.toml': manifest, 'retry.ts': 'export const tries = 6\n' },
      'Retry webhook deliveries',
    )
    const held = Promise.withResolvers<void>()
    await page.route(/merge-preview|\/checks|\/pull-request/, async (route) => {
      await held.promise
      await route.continue()
    })
    await page.goto(address(`/${number}`))
    await mergeButton().waitFor(slow)
    expect(await mergeButton().getAttribute('title')).toBe('Waiting for mergeability, checks, effects, the git host…')
    const before = await boxOf()
    await look('landing-waiting')
    await page.setViewportSize({ width: 1440, height: 900 })
    held.resolve()
    const confirm = page.getByRole('checkbox', { name: /STRIPE_KEY goes to hooks\.stripe\.example/ })
    await confirm.waitFor(slow)
    await page.unrouteAll({ behavior: 'wait' })
    expect(await boxOf()).toEqual(before)
    // The checklist has the whole sentence, and leads to its checkbox.
    const lead = page.getByRole('list', { name: 'Checklist' }).getByRole('button', { name: /STRIPE_KEY goes to/ })
    expect(await lead.evaluate(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)).toBe(0)
    await lead.click()
    await confirm.and(page.locator(':focus')).waitFor()
    expect(await confirm.isChecked()).toBe(false)
    expect(await mergeButton().getAttribute('title')).toBe('1 effect needs your confirmation')
    await page.locator('header p').getByText('to confirm', { exact: true }).waitFor()
    await look('landing-effects')
    // On a phone it is one bar above the work, with what needs a confirmation.
    await page.setViewportSize({ width: 390, height: 844 })
    const bar = page.getByRole('complementary', { name: 'Landing' })
    for (const tab of ['Conversation', 'Effects 3', 'Files 2']) {
      await page.getByRole('tab', { name: tab }).click()
      await bar.getByRole('heading', { name: 'Needs your confirmation' }).waitFor(slow)
      expect(await mergeButton().getAttribute('aria-disabled')).toBe('true')
      expect((await page.locator('[data-pane]').boundingBox())!.y).toBeLessThan(400)
    }
    expect(await confirm.isVisible()).toBe(false)
    await bar.getByRole('button', { name: /STRIPE_KEY goes to/ }).click()
    await confirm.and(page.locator(':focus')).waitFor()
    await page.setViewportSize({ width: 1440, height: 900 })
    // The bar of a phone gives way to the panel, whose field is another one.
    await page.getByRole('button', { name: /^(?:Show|Hide) details$/ }).waitFor({ ...slow, state: 'detached' })
    await page.getByLabel('Value of API_KEY').fill('a value')
    await page.getByRole('button', { name: 'Set API_KEY' }).click()
    const missing = page.getByRole('list', { name: 'Missing secrets' })
    await missing.getByText('API_KEY').waitFor({ ...slow, state: 'detached' })
    await confirm.check()
    await mergeButton().and(page.locator(':not([aria-disabled])')).waitFor(slow)
    expect(await boxOf()).toEqual(before)
    await page.getByRole('tab', { name: /^Effects/ }).click()
    await page.getByRole('heading', { name: 'After the merge' }).waitFor(slow)
    // Each once: what it does in the tab, and what a person decides about it in the panel.
    const sentence = 'Connector hooks is added: secret STRIPE_KEY is sent to hooks.stripe.example.'
    await page.getByText(sentence, { exact: true }).waitFor()
    expect(await confirm.count()).toBe(1)
    expect(await confirm.isChecked()).toBe(true)
    expect(await boxOf()).toEqual(before)
    await look('landing-effects-tab')
    await page.setViewportSize({ width: 1440, height: 900 })
    await mergeButton().click()
    await page.getByText(/^Owner merged this into main as/).waitFor(slow)
    await look('landing-merged')
    await page.setViewportSize({ width: 1440, height: 900 })
    await page.getByRole('heading', { name: 'What the merge changed' }).waitFor(slow)
    await page.getByText(sentence, { exact: true }).waitFor()
    await page.getByRole('tab', { name: 'Commits' }).click()
    await page
      .getByRole('link', { name: /^[0-9a-f]{10}$/ })
      .first()
      .click()
    await page.getByRole('heading', { name: /^Commit [0-9a-f]{10}$/ }).waitFor(slow)
    expect(
      await server.json<{ status: string }>(['cr', 'show', String(number), '--project', project.project_id]),
    ).toMatchObject({
      change_request: { status: 'merged' },
    })
  },
  180_000,
)

test.skipIf(!browserPath)(
  'the list says whether each can land and what it touches, and is filtered, sorted, and changed in bulk',
  async () => {
    const { page } = story
    await page.setViewportSize({ width: 1440, height: 900 })
    const clean = await propose('paginate', { 'c.txt': 'one\ntwo\n' }, 'Paginate refunds')
    const other = await propose('log-ids', { 'd.txt': 'd\n' }, 'Log request ids')
    const rename = await propose('rename-tier', { 'b.txt': 'tier\n' }, 'Rename Customer.tier to Customer.plan')
    const same = await propose('rename-plan', { 'b.txt': 'plan\n' }, 'Rename Customer.plan')
    const conflict = await propose('fastify', { 'a.txt': 'six\n' }, 'Upgrade to Fastify 6')
    const five = await propose('five', { 'a.txt': 'five\n' }, 'Upgrade to Fastify 5')
    await story.server.json(['cr', 'merge', String(five), '--project', project.project_id])
    const draft = await propose('unfinished', { 'e.txt': 'e\n' }, 'Move invoice totals to integer cents')
    await story.server.json(['cr', 'ready', String(draft), '--undo', '--project', project.project_id])

    // The page of a change request sends its own.
    await page.goto('about:blank')
    const requests: string[] = []
    page.on('request', (request) => requests.push(request.url()))
    await page.goto(address(''))
    const row = (number: number) =>
      page
        .getByRole('listitem')
        .filter({ hasText: `#${number}` })
        .filter({ has: page.getByRole('checkbox') })
    await row(conflict).getByText('a.txt conflicts with main').waitFor(slow)
    await row(clean).getByText('Touches c.txt · nothing collides').waitFor(slow)
    await row(rename).getByText(`collides with #${same} in b.txt`).waitFor(slow)
    // The other one's row names this one, too.
    await row(rename).getByText('collides', { exact: true }).nth(1).waitFor()
    await row(draft).getByText('draft', { exact: true }).waitFor()
    expect(requests.filter((url) => /change-requests\/[^?]/.test(url))).toEqual([])
    await look('list')
    await page.setViewportSize({ width: 1440, height: 900 })

    await page.getByRole('combobox', { name: 'Sort' }).selectOption('ready')
    await page.waitForURL(/sort=ready/)
    await page
      .getByRole('list', { name: 'Change requests' })
      .getByRole('listitem')
      .last()
      .getByText('draft', { exact: true })
      .waitFor(slow)
    await page.getByRole('button', { name: 'Save filter' }).click()
    await page.getByRole('list', { name: 'Saved filters' }).getByRole('link', { name: 'Open, ready first' }).waitFor()

    await page.keyboard.press('j')
    await page.keyboard.press('x')
    await page.getByText('1 selected').waitFor()
    await page.keyboard.press('x')
    for (const number of [clean, other, conflict])
      await page.getByRole('checkbox', { name: `Select #${number}`, exact: true }).check()
    await page.getByText('3 selected').waitFor()
    await page.getByRole('button', { name: 'Close 3', exact: true }).waitFor()
    await look('list-selected')
    await page.setViewportSize({ width: 1440, height: 900 })
    await page.getByRole('button', { name: 'Merge 2 ready' }).click()
    await page.getByRole('alertdialog').getByRole('button', { name: 'Merge', exact: true }).click()
    await page.getByText('2 of 2 done').waitFor(slow)
    await page.getByRole('list', { name: 'Report' }).getByText(`#${other}: merged into main`).waitFor()
    await page.getByRole('button', { name: 'Close 1', exact: true }).click()
    await page.getByRole('button', { name: 'Close without merging' }).click()
    await page.getByText('1 of 1 done').waitFor(slow)

    await page.getByRole('link', { name: 'merged', exact: true }).click()
    await page.waitForURL(/status=merged/)
    await page.getByRole('link', { name: 'Paginate refunds' }).focus()
    await page.keyboard.press('k')
    await page.keyboard.press('Enter')
    await page.waitForURL(/change-requests\/\d+$/)
    expect(story.complaints).toEqual([])
  },
  240_000,
)
