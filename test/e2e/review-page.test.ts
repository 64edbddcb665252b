/** A person reviews a change and merges it, in a real browser: by keyboard, in both themes, at two widths, without an axe violation. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdir, mkdtemp } from 'node:fs/promises'
import { join } from 'node:path'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { isGenuine, startReceiver } from '../../packages/server/src/webhooks/testing.ts'
import { browserPath, openBrowser } from './browser.ts'
import { git, makeFirstCommit, Server } from './harness.ts'
import { axeViolations, gatewayOf, pictures, takePictures } from './page-story.ts'

let server: Server
let browser: Browser
let context: BrowserContext
let page: Page
let project: { project_id: string; slug: string }
const complaints: string[] = []

beforeAll(async () => {
  if (!browserPath) return
  await mkdir(pictures, { recursive: true })
  server = await Server.start({ SVC_SANDBOX_DRIVER: 'none' })
  project = await server.json(['projects', 'create', '--name', 'pages'])
  await makeFirstCommit(server, project.project_id)
  await pushWork()
  await server.json(['cr', 'open', '--title', 'Say it better', '--head', 'work', '--project', project.project_id])
  await server.json(['cr', 'open', '--title', 'Say it otherwise', '--head', 'other', '--project', project.project_id])
  browser = await openBrowser()
  context = await browser.newContext({ viewport: { width: 1280, height: 800 }, colorScheme: 'light' })
  page = await context.newPage()
  page.on('pageerror', (error) => complaints.push(error.message))
  page.on('console', (message) => message.type() === 'error' && complaints.push(message.text()))
  await page.goto(/(http:\/\/\S+\/sign-in#\S+)/.exec(server.output)?.[1] ?? '')
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('heading', { name: 'Inbox' }).waitFor()
}, 180_000)

afterAll(async () => {
  await browser?.close()
  await server?.end()
}, 120_000)

test.skipIf(!browserPath)(
  'the keyboard comments a line, the review is stored, and the change request is merged',
  async () => {
    await page.getByRole('link', { name: '#1 Say it better' }).click()
    await page.getByRole('heading', { name: /Say it better/ }).waitFor()
    await page.getByText('Merges cleanly').waitFor()
    await page.getByRole('list', { name: 'Collides with' }).getByRole('link', { name: '#2' }).waitFor()

    await page.getByRole('tab', { name: 'Files' }).click()
    await page.getByText('0 of 2 files viewed').waitFor()
    await page.getByText('It is said better.').first().waitFor()
    await page
      .getByRole('navigation', { name: 'Changed files' })
      .getByRole('button', { name: /a\.txt/ })
      .click()
    await page.keyboard.press('c')
    await page.getByLabel(/^Comment on line/).fill('Better, yes. **Why?**')
    await page.keyboard.press('Control+Enter')
    await page.getByText('Pending comment on line').waitFor()
    await page.getByText('Your review: 1 comment').waitFor()
    await page.getByRole('link', { name: 'Review changes (1 draft)', exact: true }).waitFor()
    await page.keyboard.press('Escape')
    await page.getByLabel(/Summary/).fill('Nearly.')
    await page.getByRole('button', { name: 'Save review' }).click()
    await page.getByText('Your review: 0 comments').waitFor()
    await page.getByRole('link', { name: 'Review changes', exact: true }).waitFor()
    // What was sent stays at its line.
    const thread = page.getByRole('article', { name: /^Comment by/ })
    await thread.getByText('Why?').waitFor()
    await thread.getByRole('button', { name: 'Reply' }).click()
    await thread.getByLabel('Reply').fill('Because of the tests?')
    await thread.getByRole('button', { name: 'Reply' }).click()
    await thread.getByText('Because of the tests?').waitFor()
    await takePictures(page, 'review-thread')
    expect(await axeViolations(page)).toEqual([])
    // On a phone, too, an empty box is no tick.
    const viewed = page.getByRole('button', { name: 'Viewed: a.txt' })
    expect(await viewed.locator('svg').count()).toBe(0)
    await viewed.click()
    await page.getByText('1 of 2 files viewed').waitFor()
    expect(await viewed.getAttribute('aria-pressed')).toBe('true')
    expect(await viewed.locator('svg').count()).toBe(1)
    await takePictures(page, 'review-viewed')
    await viewed.click()
    await page.getByText('0 of 2 files viewed').waitFor()
    // axe makes style elements of its own, which the page's policy refuses.
    expect(complaints.splice(0).filter((text) => !text.includes('Content Security Policy'))).toEqual([])
    await page.setViewportSize({ width: 1280, height: 800 })
    await page.emulateMedia({ colorScheme: 'light' })
    await thread.getByRole('button', { name: 'Resolve' }).click()
    await thread.getByText('resolved', { exact: true }).waitFor()

    await page.getByRole('tab', { name: 'Conversation' }).click()
    await page.getByRole('button', { name: 'Show', exact: true }).click()
    await page.getByText('Nearly.').waitFor()
    await page.getByText('Why?').waitFor()
    await page.getByText('No new commits since this review.').waitFor()
    await page.getByRole('button', { name: 'Merge into main' }).click()
    await page.getByText(/ merged this into main as/).waitFor()
    await page.getByRole('tab', { name: /^Files/ }).click()
    await page.getByText('It is merged, so nothing is sent to an agent.').waitFor()
    const merged = await server.json<{ change_requests: { number: number }[] }>([
      ...['cr', 'ls', '--status', 'merged', '--project', project.project_id],
    ])
    expect(JSON.stringify(merged)).toContain('Say it better')
    expect(complaints).toEqual([])
  },
  180_000,
)

test.skipIf(!browserPath)(
  'a conflict lists its files and why merging is off, and the change request is closed and reopened',
  async () => {
    await page.goto(`${server.url}/projects/${project.slug}/change-requests/2`)
    const files = page.getByRole('list', { name: 'Conflicting files' })
    await files.getByText('a.txt').waitFor()
    const merge = page.getByRole('button', { name: 'Merge into main' })
    expect(await merge.getAttribute('aria-disabled')).toBe('true')
    await page.getByText("Can't merge: 1 file conflicts with main.").waitFor()
    await page.getByRole('button', { name: 'Close without merging' }).click()
    await page.getByRole('button', { name: 'Reopen' }).click()
    await files.waitFor()
  },
  120_000,
)

test.skipIf(!browserPath)(
  'a webhook is created, shows its secret once and a failure with its reason, is sent again and deleted, and so is the push webhook',
  async () => {
    const receiver = await startReceiver()
    try {
      await page.goto(`${server.url}/projects/${project.slug}/webhooks`)
      await page.getByText('No webhooks yet.').waitFor()
      // A button that is off says why to whoever presses it.
      await page.getByRole('button', { name: 'Create webhook', exact: true }).focus()
      await page.keyboard.press('Enter')
      await page.getByRole('status').getByText('Enter a URL').waitFor()
      await page.getByLabel('URL').fill(receiver.url)
      await page.getByRole('button', { name: 'Create webhook', exact: true }).click()
      await page.getByText('Copy the signing secret now').waitFor()
      const secret = (await page.locator('code').first().textContent())!
      receiver.answer = 500
      await page.getByRole('button', { name: 'Send ping' }).click()
      const deliveries = page.getByRole('list', { name: /^Deliveries to/ }).getByRole('listitem')
      // Events of other changes are sent, too.
      const row = deliveries.filter({ hasText: 'ping' }).first()
      await row.getByText(/500/).first().waitFor({ timeout: 60_000 })
      receiver.answer = 200
      await row.getByRole('button', { name: 'Send again: ping' }).click()
      await row.getByText('delivered').waitFor({ timeout: 60_000 })
      expect(receiver.letters.length).toBeGreaterThan(1)
      expect(receiver.letters.filter((letter) => !isGenuine(letter, secret))).toEqual([])
      await page.screenshot({ path: join(pictures, 'webhooks-filled-light-1280.png') })
      await page.reload()
      await row.getByText('delivered').waitFor()
      expect(await page.content()).not.toContain(secret)
      await page.getByRole('button', { name: 'Pause' }).click()
      await page.getByText('paused', { exact: true }).waitFor()
      await page.getByRole('button', { name: 'Delete' }).click()
      await page.getByRole('alertdialog').getByRole('button', { name: 'Delete' }).click()
      await page.getByText('No webhooks yet.').waitFor()

      // A repository of ours needs none; one on another host gets an address and a secret to enter there.
      const bare = join(server.dir, 'elsewhere.git')
      await git(server.dir, 'clone', '--quiet', '--bare', gatewayOf(server, project), bare)
      const far = await server.json<{ slug: string }>([
        ...['projects', 'create', '--repo', `file://${bare}`, '--name', 'elsewhere'],
      ])
      await page.goto(`${server.url}/projects/${far.slug}/settings`)
      await page.getByText('No secret yet').waitFor()
      await page.getByRole('button', { name: 'Create secret' }).click()
      await page.getByRole('button', { name: 'Replace secret' }).waitFor()
      await page.getByText(`${server.url}/v1/projects/`).last().waitFor()
      await page.screenshot({ path: join(pictures, 'settings-elsewhere-light-1280.png'), fullPage: true })
    } finally {
      await receiver.close()
    }
  },
  120_000,
)

test.skipIf(!browserPath)(
  'the audit log leads to what it names, and the profile names the browser',
  async () => {
    await page.goto(`${server.url}/account/audit?action=change_request.open`)
    const log = page.getByRole('region', { name: 'Audit log' })
    await log.getByRole('link', { name: '#2 Say it otherwise' }).click()
    await page.waitForURL(`**/projects/${project.slug}/change-requests/2`)
    await page.goto(`${server.url}/account/audit?action=webhook.create`)
    await log.getByRole('row').nth(1).getByRole('link').click()
    await page.waitForURL(`**/projects/${project.slug}/webhooks`)

    await page.goto(`${server.url}/account/profile`)
    const mine = page.getByRole('list', { name: 'Sign-ins' }).getByRole('listitem').filter({ hasText: 'this browser' })
    const name = mine.getByText(/^Chrome \d+ on \w+$/)
    await name.waitFor()
    expect(await name.getAttribute('title')).toStartWith('Mozilla/5.0 ')
  },
  120_000,
)

const addresses = (slug: string) => ({
  home: '/',
  projects: '/projects',
  'change-requests': `/projects/${slug}/change-requests?status=all`,
  merged: `/projects/${slug}/change-requests/1`,
  conflict: `/projects/${slug}/change-requests/2`,
  commits: `/projects/${slug}/change-requests/1?tab=commits`,
  files: `/projects/${slug}/change-requests/2?tab=files`,
  effects: `/projects/${slug}/change-requests/2?tab=effects`,
  sessions: `/projects/${slug}/sessions`,
  branches: `/projects/${slug}/branches`,
  triggers: `/projects/${slug}/triggers`,
  connectors: `/projects/${slug}/connectors`,
  channels: `/projects/${slug}/channels`,
  apps: `/projects/${slug}/apps`,
  secrets: `/projects/${slug}/secrets`,
  webhooks: `/projects/${slug}/webhooks`,
  usage: `/projects/${slug}/usage`,
  'project-tokens': `/projects/${slug}/tokens`,
  settings: `/projects/${slug}/settings`,
  'new-change-request': `/projects/${slug}/change-requests/new?head=other`,
  'new-project': '/projects/new',
  members: '/account/members',
  invitations: '/invitations',
  tokens: '/account/tokens',
  audit: '/account/audit',
  'account-usage': '/account/usage',
  profile: '/account/profile',
  model: '/settings/model',
})

test.skipIf(!browserPath)(
  'every page fits both themes at two widths, with no axe violation and nothing wider than the screen',
  async () => {
    const found: string[] = []
    const looked = await browser.newContext({ storageState: await context.storageState() })
    const here = await looked.newPage()
    for (const [name, address] of Object.entries(addresses(project.slug))) {
      await here.setViewportSize({ width: 1280, height: 800 })
      await here.emulateMedia({ colorScheme: 'light' })
      await here.goto(server.url + address)
      await here.getByRole('heading').first().waitFor()
      await here
        .getByText(/^Loading /)
        .first()
        .waitFor({ state: 'detached' })
      if (name === 'files') await here.getByText('It is said otherwise.').first().waitFor()
      found.push(...(await axeViolations(here)).map((each) => `${name} in light: ${each}`))
      await takePictures(here, name)
      if (name === 'files') {
        // The layout of a diff on a narrow screen is chosen when it opens.
        await here.reload()
        await here.getByText('It is said otherwise.').first().waitFor()
      }
      if (!(await here.evaluate('document.documentElement.scrollWidth <= innerWidth')))
        found.push(`${name} at 360: wider than the screen`)
      found.push(...(await axeViolations(here)).map((each) => `${name} in dark: ${each}`))
    }
    await looked.close()
    expect(found).toEqual([])
  },
  300_000,
)

async function pushWork(): Promise<void> {
  const url = new URL(`${server.url}/v1/projects/${project.project_id}/git`)
  url.username = 'x-access-token'
  url.password = server.token
  const clone = await mkdtemp(join(server.dir, 'clone-'))
  await git(clone, 'clone', '--quiet', url.href, '.')
  for (const [branch, text] of [
    ['work', 'It is said better.\n'],
    ['other', 'It is said otherwise.\n'],
  ] as const) {
    await git(clone, 'checkout', '--quiet', '-B', branch, 'origin/main')
    await Bun.write(join(clone, 'a.txt'), text)
    await Bun.write(join(clone, `src/${branch}.ts`), 'export const answer = 42\n')
    await git(clone, 'add', '.')
    await git(clone, 'commit', '--quiet', '-m', `Say it: ${branch}`)
    await git(clone, 'push', '--quiet', 'origin', branch)
  }
}
