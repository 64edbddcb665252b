/** A person presses Ctrl+K, types a few letters, and is where they wanted to be, on any project of theirs. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdtemp } from 'node:fs/promises'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { startTestProvider } from '../../packages/server/src/accounts/oidc/testing.ts'
import { browserPath } from './browser.ts'
import { gatewayOf, git, makeFirstCommit, type Server, until } from './harness.ts'
import { beginPageStory, expectItFits, axeViolations, type PageStory, takePictures } from './page-story.ts'

interface Made {
  project_id: string
  slug: string
}

let story: PageStory
let server: Server
let page: Page
let payments: Made
let web: Made
let provider: Awaited<ReturnType<typeof startTestProvider>>
let searches: string[] = []

beforeAll(async () => {
  if (!browserPath) return
  let url = ''
  provider = await startTestProvider({ redirectUri: () => `${url}/sign-in/oidc/callback` })
  story = await beginPageStory({
    SVC_OIDC_ISSUER: provider.issuer,
    SVC_OIDC_CLIENT_ID: provider.clientId,
    SVC_OIDC_CLIENT_SECRET: provider.clientSecret,
    SVC_OIDC_NAME: 'Our own',
  })
  ;({ server, page } = story)
  url = server.url
  payments = await server.json<Made>(['projects', 'create', '--name', 'payments-api'])
  web = await server.json<Made>(['projects', 'create', '--name', 'web'])
  await makeFirstCommit(server, payments.project_id, { 'src/invoices/totals.ts': 'x\n', 'src/refunds.ts': 'x\n' })
  await makeFirstCommit(server, web.project_id)
  await open(payments, 'fix/retries', 'Retry webhook deliveries with backoff')
  await open(payments, 'totals', 'Move invoice totals to integer cents')
  await open(web, 'webhooks', 'List the webhook deliveries of a customer')
  await startSession(payments, 'Repair the nightly export')
  await startSession(web, 'Export button on the invoice page')
  page.on('request', (request) => {
    const { pathname, searchParams } = new URL(request.url())
    if (pathname === '/v1/find') searches.push(searchParams.get('text') ?? '')
  })
}, 240_000)

afterAll(async () => {
  await story?.end()
  await provider?.close()
}, 120_000)

async function open(project: Made, branch: string, title: string): Promise<void> {
  const clone = await mkdtemp(join(server.dir, 'clone-'))
  await git(clone, 'clone', '--quiet', gatewayOf(server, project), '.')
  await git(clone, 'checkout', '--quiet', '-b', branch)
  await Bun.write(join(clone, `${branch.replaceAll('/', '-')}.txt`), 'x\n')
  await git(clone, 'add', '.')
  await git(clone, 'commit', '--quiet', '-m', 'Work')
  await git(clone, 'push', '--quiet', 'origin', branch)
  await server.json(['cr', 'open', '--title', title, '--head', branch, '--project', project.project_id])
}

async function startSession(project: Made, name: string): Promise<void> {
  const more = ['--no-wait', '--model', 'svc-scripted-demo', '--project', project.project_id]
  const { session_id: id } = await server.json<{ session_id: string }>(['sessions', 'new', '--name', name, ...more])
  await server.json(['sessions', 'stop', id, '--project', project.project_id])
}

const field = (of = page) => of.getByRole('combobox', { name: 'Search or jump to' })
const option = (name: string | RegExp, of = page) => of.getByRole('option', { name })
const selected = (of = page) => of.locator('[role=option][data-highlighted]').first().textContent()

async function type(text: string, of = page): Promise<void> {
  await of.keyboard.press('Control+k')
  await field(of).fill(text)
}

async function close(): Promise<void> {
  await page.keyboard.press('Escape')
  await field().waitFor({ state: 'detached' })
}

test.skipIf(!browserPath)(
  'finds a change request by words of its title, by its branch and by its number, with one request for what is typed',
  async () => {
    await page.goto(`${server.url}/projects/${payments.slug}/files`)
    await page.getByText('refunds').or(page.getByText('src')).first().waitFor()
    await page.keyboard.press('Control+k')
    searches = []
    await page.keyboard.type('webhook deliv', { delay: 20 })
    await option('#1 List the webhook deliveries of a customer').waitFor()
    // Those of the open project come first.
    expect(await page.getByRole('group', { name: 'Change requests' }).getByRole('option').allTextContents()).toEqual([
      '#1 Retry webhook deliveries with backoffopenpayments-api',
      '#1 List the webhook deliveries of a customeropenweb',
    ])
    // On a busy machine the answer to fewer letters has both already.
    await until('the search for everything typed', async () => searches.at(-1) === 'webhook deliv')
    expect(searches.length).toBeLessThan('webhook deliv'.length)
    await takePictures(page, 'palette')
    await page.setViewportSize({ width: 1280, height: 800 })
    await field().fill('fix/ret')
    await option('#1 Retry webhook').waitFor()
    await field().fill('#2')
    await option('#2 Move invoice totals').waitFor()
    expect(await selected()).toContain('#2 Move invoice totals')
    await page.getByText('Enter Open change request').waitFor()
    await page.keyboard.press('Enter')
    await page.waitForURL(`${server.url}/projects/${payments.slug}/change-requests/2`)
    await field().waitFor({ state: 'detached' })
  },
  120_000,
)

test.skipIf(!browserPath)(
  'lists what begins with a single letter first, then change requests and sessions, and other pages last',
  async () => {
    await page.goto(`${server.url}/projects/${payments.slug}/branches`)
    await page.getByRole('heading', { name: 'Branches' }).first().waitFor()
    await type('r')
    await option('Repair the nightly export').waitFor()
    await option(/^Branches/).waitFor()
    await takePictures(page, 'palette-letter')
    await page.setViewportSize({ width: 1280, height: 800 })
    const rows = await page.getByRole('option').allTextContents()
    const place = (text: string) => rows.findIndex((each) => each.startsWith(text))
    expect(rows[0]).toStartWith('#')
    expect(place('Repair the nightly export')).toBeLessThan(place('Branches'))
    await field().fill('b')
    await option(/^#1 Retry webhook/).waitFor()
    expect(await selected()).toStartWith('Branches')
    await close()
  },
  120_000,
)

test.skipIf(!browserPath)(
  'a theme that is chosen here is the one that the account menu has',
  async () => {
    const isChosen = (name: string) => page.getByRole('menuitemradio', { name, checked: true })
    await page.getByText('Account menu').click()
    await isChosen('System theme').waitFor()
    await type('dark')
    await option('Use the dark theme').click()
    await field().waitFor({ state: 'detached' })
    if ((await page.getByRole('menuitemradio').count()) === 0) await page.getByText('Account menu').click()
    await isChosen('Dark').waitFor({ timeout: 10_000 })
    await page.getByRole('menuitemradio', { name: 'System theme' }).click()
    await isChosen('System theme').waitFor()
    await page.keyboard.press('Escape')
  },
  120_000,
)

test.skipIf(!browserPath)(
  'finds sessions by name, in other projects, too, and goes there by keyboard',
  async () => {
    await type('export')
    await option('Repair the nightly export').waitFor()
    await option('Export button on the invoice page').waitFor()
    await page.keyboard.press('ArrowDown')
    expect(await selected()).toContain('Export button on the invoice page')
    await page.getByText('Enter Open session').waitFor()
    await page.keyboard.press('Enter')
    await page.waitForURL(new RegExp(`/projects/${web.slug}/sessions/`))
    await page.getByRole('heading', { name: 'Export button on the invoice page' }).waitFor()
  },
  120_000,
)

test.skipIf(!browserPath)(
  'finds files of the open project by path, pages, projects, and what the page can do',
  async () => {
    await page.goto(`${server.url}/projects/${payments.slug}/branches`)
    await page.getByRole('heading', { name: 'Branches' }).first().waitFor()
    await type('inv tot')
    await option('src/invoices/totals.ts').click()
    await page.waitForURL(/path=src%2Finvoices%2Ftotals\.ts|path=src\/invoices\/totals\.ts/)
    await type('webh')
    expect(await selected()).toContain('Webhooks')
    await page.getByText('Enter Open page').waitFor()
    await close()
    await type('dark')
    await option('Use the dark theme').click()
    await field().waitFor({ state: 'detached' })
    expect(await page.evaluate('document.documentElement.dataset.theme')).toBe('dark')
    await type('theme sys')
    await page.keyboard.press('Enter')
    await page.waitForFunction('document.documentElement.dataset.theme === undefined')
    await page.goto(server.url)
    await page.getByRole('heading', { name: 'Inbox' }).waitFor()
    await type('shortcuts')
    await page.keyboard.press('Enter')
    await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor()
    await page.keyboard.press('Escape')
    // The name of a project alone does not list its pages.
    await type('payments-api')
    await option(/^payments-api/).waitFor()
    expect(await page.getByRole('group', { name: 'Pages' }).count()).toBe(0)
    await close()
  },
  120_000,
)

test.skipIf(!browserPath)(
  'keeps the rows above the selected one where they are while the answer arrives',
  async () => {
    await page.goto(`${server.url}/projects/${payments.slug}/sessions`)
    await page.getByText('Repair the nightly export').first().waitFor()
    await type('repair')
    await option('Repair the nightly export').waitFor()
    const answered = Promise.withResolvers<void>()
    await page.route('**/v1/find?*', async (route) => {
      await answered.promise
      await route.continue()
    })
    // The last answer has one of the two, so it is there before the next one.
    await field().fill('export')
    await option('Repair the nightly export').hover()
    await page.keyboard.press('ArrowDown')
    const before = await page.getByRole('option').allTextContents()
    const chosen = await selected()
    answered.resolve()
    await option('Export button on the invoice page').waitFor()
    expect((await page.getByRole('option').allTextContents()).slice(0, before.length)).toEqual(before)
    expect(await selected()).toBe(chosen)
    await page.getByRole('group', { name: 'More results' }).waitFor()
    await page.unrouteAll({ behavior: 'wait' })
    await close()
  },
  120_000,
)

test.skipIf(!browserPath)(
  'offline, it says so, still leads to pages, and searches again once the service answers',
  async () => {
    await page.context().setOffline(true)
    await type('webhook')
    await page.getByRole('alert').getByText("Can't reach the service.").waitFor()
    await option(/^Webhooks/).waitFor()
    await takePictures(page, 'palette-offline')
    await page.setViewportSize({ width: 1280, height: 800 })
    await page.context().setOffline(false)
    await option('#1 List the webhook deliveries of a customer').waitFor()
    await page.getByRole('alert').waitFor({ state: 'detached' })
    await field().fill('zzzz-nothing')
    await page.getByRole('option', { name: 'Search the text of all files for “zzzz-nothing”' }).waitFor()
    await close()
  },
  120_000,
)

test.skipIf(!browserPath)(
  'fits a phone, and a reader of the screen hears how many results there are',
  async () => {
    await type('e')
    await page
      .getByRole('status')
      .getByText(/^\d+ results$/)
      .waitFor()
    await page.setViewportSize({ width: 360, height: 800 })
    await expectItFits(page)
    expect(await axeViolations(page)).toEqual([])
    await takePictures(page, 'palette-groups')
    await field().fill('')
    await takePictures(page, 'palette-empty')
    await page.setViewportSize({ width: 1280, height: 800 })
    await close()
  },
  120_000,
)

test.skipIf(!browserPath)(
  'a viewer finds sessions, but no change request and no action that they may not take',
  async () => {
    await server.json(['members', 'add', 'ada@example.test', '--role', 'viewer'])
    provider.person = { subject: 'ada', email: 'ada@example.test', email_verified: true }
    const ada = await (await story.browser.newContext({ viewport: { width: 1280, height: 800 } })).newPage()
    await ada.goto(`${server.url}/projects`)
    await ada.getByRole('link', { name: 'Sign in with Our own' }).click()
    await ada.getByRole('button', { name: 'Join Personal' }).click()
    await ada.waitForURL(`${server.url}/`)
    await ada.goto(`${server.url}/projects/${payments.slug}/sessions`)
    await ada.getByText('Repair the nightly export').first().waitFor()
    await type('export', ada)
    await option('Export button on the invoice page', ada).waitFor()
    await field(ada).fill('webhook deliveries')
    await option(/^Search the text of all files/, ada).waitFor()
    expect(await ada.getByRole('group', { name: 'Change requests' }).count()).toBe(0)
    await field(ada).fill('new')
    await option(/^Search the text of all files/, ada).waitFor()
    expect(await ada.getByRole('option', { name: 'New session' }).count()).toBe(0)
    // The sidebar leads only where a viewer may read, and a project opens there.
    await ada.keyboard.press('Escape')
    const pages = ada.getByRole('navigation', { name: 'Project' }).getByRole('link')
    const shown = ['Sessions', 'Files', 'Branches', 'Triggers', 'Apps', 'Connectors', 'Channels', 'Secrets', 'Usage']
    expect(await pages.allTextContents()).toEqual([...shown, 'Project settings'])
    await ada.goto(`${server.url}/projects/${payments.slug}`)
    await ada.waitForURL(`${server.url}/projects/${payments.slug}/sessions`)
    await ada.goto(`${server.url}/projects/${payments.slug}/branches`)
    await ada.getByRole('list', { name: 'Branches' }).getByText('default').waitFor()
    expect(await ada.getByRole('link', { name: 'Create change request' }).count()).toBe(0)
    await ada.goto(`${server.url}/projects/${payments.slug}/settings`)
    const refusal = 'Only owners and admins of the account can do this; your role is viewer'
    for (const name of ['Save settings', 'Delete project'])
      await ada.locator(`button[aria-disabled][title="${refusal}"]`, { hasText: name }).waitFor()
    await ada.goto(`${server.url}/projects/${payments.slug}/change-requests`)
    await ada.getByText('Your role here is viewer. This requires the member role.').first().waitFor()
  },
  120_000,
)

test.skipIf(!browserPath)('the page has no errors', () => {
  expect(story.complaints.filter((each) => !each.includes('ERR_INTERNET_DISCONNECTED'))).toEqual([])
})
