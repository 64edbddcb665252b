/** "Branch from here" in a browser: from a turn of a conversation to the page of a session that continues there. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdtemp } from 'node:fs/promises'
import { join } from 'node:path'
import { browserPath } from './browser.ts'
import { git } from './harness.ts'
import {
  axeViolations,
  beginPageStory,
  expectItFits,
  gatewayOf,
  type PageStory,
  pictures,
  script,
} from './page-story.ts'

const slow = { timeout: 120_000 }
let story: PageStory
let project: { project_id: string; slug: string }
let sessionId: string

const inProject = () => ['--project', project.project_id]

beforeAll(async () => {
  story = await beginPageStory()
  const { server } = story
  project = await server.json(['projects', 'create', '--name', 'crossroads'])
  const clone = await mkdtemp(join(server.dir, 'clone-'))
  await git(clone, 'init', '--quiet', '--initial-branch=main')
  await Bun.write(join(clone, 'road.txt'), 'base\n')
  await git(clone, 'add', '--all')
  await git(clone, 'commit', '--quiet', '-m', 'First')
  await git(clone, 'push', '--quiet', gatewayOf(server, project), 'main')
  const made = await server.json<{ session_id: string }>([
    ...['sessions', 'new', '--model', 'svc-scripted-demo', '--name', 'Find the road', ...inProject()],
  ])
  sessionId = made.session_id
  for (const road of ['north', 'south']) {
    const prompt = script(`echo ${road} > road.txt`)
    const asked = await server.svc(['sessions', 'chat', sessionId, ...inProject(), '--prompt', prompt])
    if (asked.code !== 0) throw new Error(asked.stderr)
  }
}, 300_000)
afterAll(() => story?.end(), 120_000)

const buttons = () => story.page.getByRole('button', { name: 'Branch from here' })
const dialog = () => story.page.getByRole('dialog', { name: 'Branch from here' })

async function picture(name: string): Promise<void> {
  const { page } = story
  for (const [colorScheme, width] of [
    ['light', 1440],
    ['dark', 1440],
    ['dark', 1024],
    ['light', 360],
  ] as const) {
    await page.emulateMedia({ colorScheme })
    await page.setViewportSize({ width, height: 800 })
    await expectItFits(page)
    await page.screenshot({ path: join(pictures, `${name}-${colorScheme}-${width}.png`) })
  }
  await page.emulateMedia({ colorScheme: 'light' })
  await page.setViewportSize({ width: 1280, height: 800 })
}

test.skipIf(!browserPath)(
  'a person goes another way from an earlier turn, and the first way stays',
  async () => {
    const { page, server, complaints } = story
    await page.goto(`${server.url}/projects/${project.slug}/sessions/${sessionId}`)
    await buttons().nth(1).waitFor(slow)
    expect(await buttons().count()).toBe(2)
    await picture('branch-from-here')
    // By keyboard, and back.
    await buttons().first().focus()
    await page.keyboard.press('Enter')
    await dialog().getByLabel('First prompt (optional)').waitFor()
    expect(await axeViolations(page)).toEqual([])
    await picture('branch-dialog')
    await page.keyboard.press('Escape')
    await dialog().waitFor({ state: 'detached' })

    await buttons().first().click()
    await dialog().getByLabel('First prompt (optional)').fill(script('cat road.txt; echo east >> road.txt'))
    await dialog().getByRole('button', { name: 'Start session' }).click()
    await page.waitForURL((url) => !url.pathname.endsWith(sessionId), slow)
    await page.getByText('Continues from').waitFor(slow)
    await page.getByRole('link', { name: 'Find the road' }).waitFor(slow)
    await page.getByText('north', { exact: true }).first().waitFor(slow)
    await page.getByRole('list', { name: 'Changed files' }).getByText('road.txt').waitFor(slow)
    expect(await page.getByText('Unfinished work saved').count()).toBe(0)
    await picture('branch-continues')
    expect(await axeViolations(page)).toEqual([])

    await page.getByRole('link', { name: 'Find the road' }).click()
    await page.getByRole('heading', { name: 'Find the road' }).waitFor(slow)
    const file = await server.svc(['sessions', 'files', sessionId, 'road.txt', ...inProject()])
    expect(file.stdout).toBe('south\n')
    expect(complaints).toEqual([])
  },
  300_000,
)

test.skipIf(!browserPath)(
  'a refusal shows in the dialog, and the prompt stays',
  async () => {
    const { page, server } = story
    await page.goto(`${server.url}/projects/${project.slug}/sessions/${sessionId}`)
    await buttons().first().click(slow)
    await page.route('**/v1/projects/*/sessions', (route) =>
      route.request().method() === 'POST'
        ? route.fulfill({
            status: 422,
            json: { error: 'The code as it was after this message is not saved any more.', code: 'unprocessable' },
          })
        : route.continue(),
    )
    await dialog().getByLabel('First prompt (optional)').fill('Go east')
    await dialog().getByRole('button', { name: 'Start session' }).click()
    await dialog().getByText('is not saved any more').waitFor()
    expect(await dialog().getByLabel('First prompt (optional)').inputValue()).toBe('Go east')
    await picture('branch-refused')
    await page.unroute('**/v1/projects/*/sessions')
  },
  120_000,
)
