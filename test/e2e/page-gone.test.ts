/** A page leads on when its session was deleted elsewhere or never existed, and when the sign-in has ended. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { browserPath } from './browser.ts'
import { makeFirstCommit, until } from './harness.ts'
import { axeViolations, beginPageStory, type PageStory } from './page-story.ts'

let story: PageStory
let project: { project_id: string; slug: string }
const slow = { timeout: 60_000 }

beforeAll(async () => {
  if (!browserPath) return
  story = await beginPageStory()
  project = await story.server.json(['projects', 'create', '--name', 'gone'])
  await makeFirstCommit(story.server, project.project_id)
}, 180_000)
afterAll(() => story?.end(), 120_000)

const go = (path: string) => story.page.goto(`${story.server.url}/projects/${project.slug}/${path}`)

/** One heading says what is wrong, and one link leads on. */
async function expectOnly(title: string, link: string): Promise<void> {
  const { page } = story
  const main = page.getByRole('main')
  await main.getByRole('heading', { name: title, level: 1 }).waitFor(slow)
  expect(await main.getByText(title).count()).toBe(1)
  expect(await page.getByRole('button', { name: 'Try again' }).count()).toBe(0)
  expect(await axeViolations(page)).toEqual([])
  await main.getByRole('link', { name: link }).waitFor()
}

test.skipIf(!browserPath)(
  'the page of an unknown change request or session leads to those that exist',
  async () => {
    await go('change-requests/99')
    await expectOnly('This project has no change request #99.', 'See the change requests of this project')
    await go('change-requests/abc')
    await expectOnly('This project has no change request #abc.', 'See the change requests of this project')
    for (const page of ['', '/files', '/terminal']) {
      await go(`sessions/00000000-0000-4000-8000-000000000000${page}`)
      await expectOnly('There is no such session.', 'See the sessions of this project')
    }
  },
  180_000,
)

test.skipIf(!browserPath)(
  'an open page says once that its session was deleted',
  async () => {
    const { page, server } = story
    const inProject = ['--project', project.project_id]
    const { session_id: id } = await server.json<{ session_id: string }>(['sessions', 'new', '--no-wait', ...inProject])
    await go(`sessions/${id}`)
    await page.getByRole('textbox', { name: /^Prompt/ }).fill('Not sent', slow)
    await server.svc(['sessions', 'rm', id, '--yes', ...inProject])
    await expectOnly('This session was deleted', 'See the sessions of this project')
    await page.getByRole('link', { name: 'See the sessions of this project' }).click()
    await page.waitForURL('**/sessions')
  },
  180_000,
)

test.skipIf(!browserPath)(
  'a page whose sign-in has ended keeps what is typed, and goes on after a sign-in in another tab',
  async () => {
    const { page, server } = story
    const context = page.context()
    await go('files?path=a.txt&view=edit')
    const field = page.getByRole('textbox', { name: /^Content of/ })
    await field.fill('typed before\n', slow)
    await context.clearCookies({ name: 'svc_session' })
    await page.getByRole('button', { name: 'Propose change' }).click()
    const notices = page.getByRole('alert').filter({ hasText: 'Your sign-in has ended' })
    // Above the page, and at the button.
    await until('both notices', async () => (await notices.count()) === 2)
    expect(await page.getByText('This needs a token').count()).toBe(0)
    expect(await field.inputValue()).toBe('typed before\n')

    const opened = context.waitForEvent('page')
    await notices.last().getByRole('link', { name: 'Sign in' }).click()
    const tab = await opened
    await tab.getByText('Sign in to svc').waitFor(slow)
    await tab.goto((await server.json<{ url: string }>(['self-host', 'owner-link'])).url)
    await tab.getByRole('button', { name: 'Sign in' }).click()
    await tab.waitForURL(page.url(), slow)
    await tab.getByRole('textbox', { name: /^Content of/ }).waitFor(slow)
    await tab.close()

    await page.getByRole('button', { name: 'Propose change' }).click()
    await page.waitForURL('**/change-requests/1', slow)
    await page.getByText('typed before', { exact: true }).first().waitFor(slow)
    await notices.first().waitFor({ ...slow, state: 'detached' })
  },
  180_000,
)
