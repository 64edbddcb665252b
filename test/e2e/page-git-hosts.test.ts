/** A repository on another host, by the pages alone: what svc proves itself with there, and what its default branch is. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { join } from 'node:path'
import {
  commit,
  findSshd,
  type HttpBackend,
  makeRepo,
  serveHttpBackend,
  serveSsh,
  type Sshd,
  type TestRepository,
} from '@svc/git/testing'
import type { Route } from 'playwright-core'
import { browserPath } from './browser.ts'
import { until } from './harness.ts'
import { axeViolations, beginPageStory, type PageStory, pictures } from './page-story.ts'

let story: PageStory
let origin: TestRepository
let host: HttpBackend
let sshd: Sshd | null = null
const auth = { username: 'x-access-token', password: 'first-token' }

beforeAll(async () => {
  if (!browserPath) return
  story = await beginPageStory({ SVC_SANDBOX_DRIVER: 'none' })
  origin = await makeRepo({ main: { a: '1\n' } })
  await commit(origin, 'next', { b: '2\n' }, { from: 'main' })
  host = await serveHttpBackend(origin.dir, { auth })
  if (findSshd() !== null) sshd = await serveSsh(join(story.server.dir, 'sshd'))
}, 180_000)
afterAll(async () => {
  await sshd?.close()
  await host?.close()
  await story?.end()
  await origin?.remove()
}, 120_000)

const settings = () => story.page.getByRole('navigation').getByRole('link', { name: 'Settings' }).first()
const said = (text: string) => story.page.getByText(text, { exact: false }).first().waitFor()

test.skipIf(!browserPath)(
  'replaces the token of an https repository, and refuses one that cannot push',
  async () => {
    const { page, server, complaints } = story
    await page.goto(`${server.url}/projects/new`)
    await page.getByLabel('Repository URL').fill(host.url)
    await page.getByLabel('Git access token').fill(auth.password)
    await page.getByRole('button', { name: 'Create project' }).click()
    await page.waitForURL(/\/sessions$/)
    await settings().click()
    auth.password = 'second-token'
    const token = page.getByLabel('New git access token')
    await token.fill('third-token')
    await page.getByRole('button', { name: 'Replace token' }).click()
    await said('This credential cannot push')
    await token.fill('second-token')
    await page.getByRole('button', { name: 'Replace token' }).click()
    await said('Saved. The new token can push and is now in use.')
    await until('the field to be empty', async () => (await token.inputValue()) === '')

    await page.getByLabel('Default branch', { exact: true }).fill('nowhere')
    await page.getByRole('button', { name: 'Save' }).click()
    await said('The repository has no branch "nowhere".')
    await page.getByLabel('Default branch', { exact: true }).fill('next')
    await page.getByRole('button', { name: 'Save' }).click()
    await said('Saved.')
    await page.getByRole('navigation').getByRole('link', { name: 'Branches' }).first().click()
    await page.getByRole('listitem').filter({ hasText: 'next' }).getByText('default').waitFor()
    expect(await page.content()).not.toContain('second-token')
    expect(complaints).toEqual([])
  },
  120_000,
)

test.skipIf(!browserPath)(
  'shows the saved default branch when an older list of branches arrives after the save',
  async () => {
    const { page, server } = story
    const created = await server.api('/v1/projects', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ repo_url: host.url, git_token: auth.password, name: 'late answer' }),
    })
    const { slug } = (await created.json()) as { slug: string }
    const [answered, release, delivered] = [1, 2, 3].map(() => Promise.withResolvers<void>())
    const holdFirst = async (route: Route) => {
      const response = await route.fetch()
      answered!.resolve()
      await release!.promise
      // The page may have aborted this request by now.
      await Promise.allSettled([route.fulfill({ response })])
      delivered!.resolve()
    }
    await page.route(/\/branches\?/, holdFirst, { times: 1 })
    await page.goto(`${server.url}/projects/${slug}/settings`)
    await answered!.promise
    await page.getByLabel('Default branch', { exact: true }).fill('next')
    await page.getByRole('button', { name: 'Save' }).click()
    await said('Saved.')
    release!.resolve()
    await delivered!.promise
    await page.getByRole('navigation').getByRole('link', { name: 'Branches' }).first().click()
    await page.getByRole('listitem').filter({ hasText: 'next' }).getByText('default').waitFor({ timeout: 20_000 })
  },
  120_000,
)

test.skipIf(!browserPath || findSshd() === null)(
  'shows the key of an ssh repository, uses it after the host accepts it, and replaces it',
  async () => {
    const { page, server } = story
    await page.goto(`${server.url}/projects/new`)
    await page.getByLabel('Repository URL').fill(`${sshd!.origin}${origin.dir}`)
    await page.getByLabel('Name').fill('by ssh')
    await page.getByLabel('Default branch').fill('main')
    expect(await axeViolations(page)).toEqual([])
    await page.screenshot({ path: join(pictures, 'new-project-ssh-light-1280.png') })
    await page.getByRole('button', { name: 'Create project' }).click()
    await page.waitForURL(/\/settings$/)
    const key = page.getByText(/^ssh-ed25519 \S+ svc by-ssh$/)
    const first = await key.innerText()
    expect(await axeViolations(page)).toEqual([])
    await page.screenshot({ path: join(pictures, 'settings-ssh-light-1280.png'), fullPage: true })
    sshd!.authorize(first)
    await page.getByRole('navigation').getByRole('link', { name: 'Branches' }).first().click()
    await page.getByRole('listitem').filter({ hasText: 'main' }).getByText('default').waitFor()
    await settings().click()
    await page.getByRole('button', { name: 'Replace key' }).click()
    expect(await axeViolations(page)).toEqual([])
    await page.getByRole('alertdialog').getByRole('button', { name: 'Replace key' }).click()
    await page.getByRole('alertdialog').waitFor({ state: 'detached' })
    await key.filter({ hasNotText: first }).waitFor()
  },
  120_000,
)
