/** Suggestions in a browser: written on a line, applied alone and together, and refused once their lines changed. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdtemp } from 'node:fs/promises'
import { join } from 'node:path'
import { browserPath } from './browser.ts'
import { git } from './harness.ts'
import { beginPageStory, expectItLooksRight, gatewayOf, type PageStory } from './page-story.ts'

let story: PageStory
let clone: string
let project: { project_id: string; slug: string }
const slow = { timeout: 60_000 }

beforeAll(async () => {
  if (!browserPath) return
  story = await beginPageStory({ SVC_SANDBOX_DRIVER: 'none' }, { viewport: { width: 1440, height: 900 } })
  const { server } = story
  project = await server.json(['projects', 'create', '--name', 'payments'])
  clone = await mkdtemp(join(server.dir, 'clone-'))
  await git(clone, 'init', '--quiet', '--initial-branch=main')
  await git(clone, 'remote', 'add', 'origin', gatewayOf(server, project))
  await commit({ 'README.md': 'Payments\n' })
  await git(clone, 'push', '--quiet', 'origin', 'main')
  await git(clone, 'checkout', '--quiet', '-b', 'retry')
  await commit({
    'src/deliver.ts':
      'export async function deliver(event: Event) {\n  const reply = await post(event)\n  return reply.ok\n}\n',
    'src/wait.ts': 'export const wait = 500\n',
  })
  await git(clone, 'push', '--quiet', 'origin', 'retry')
  await server.json(['cr', 'open', '--title', 'Retry deliveries', '--head', 'retry', '--project', project.project_id])
}, 180_000)
afterAll(() => story?.end(), 120_000)

async function commit(files: Record<string, string>): Promise<void> {
  for (const [path, content] of Object.entries(files)) await Bun.write(join(clone, path), content)
  await git(clone, 'add', '--all', '.')
  await git(clone, 'commit', '--quiet', '-m', 'Work')
}

async function pick(path: RegExp): Promise<void> {
  await story.page.getByRole('navigation', { name: 'Changed files' }).getByRole('button', { name: path }).click()
}

/** Writes a suggestion on the line of the cursor with the page's own button. */
async function suggest(change: (lines: string) => string): Promise<void> {
  const { page } = story
  await page.keyboard.press('c')
  const field = page.getByLabel(/^Comment on line/)
  await field.waitFor(slow)
  await page.getByRole('button', { name: 'Suggest a change' }).click()
  await field.fill(change(await field.inputValue()))
  await page.keyboard.press('Control+Enter')
  await field.waitFor({ ...slow, state: 'detached' })
}

test.skipIf(!browserPath)(
  'suggestions are written from the lines, shown as diffs, and applied in one commit',
  async () => {
    const { page, server, complaints } = story
    await page.goto(`${server.url}/projects/${project.slug}/change-requests/1?tab=files`)
    await page.getByText('0 of 2 files viewed').waitFor(slow)
    await pick(/deliver\.ts/)
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('ArrowDown')
    await suggest((block) => {
      expect(block).toBe('```suggestion\n  const reply = await post(event)\n```')
      return `Retry it.\n\n${block.replace('post(event)', 'retry(() => post(event))')}`
    })
    await pick(/wait\.ts/)
    await suggest((block) => block.replace('500', '250'))
    await page.getByText('Your review: 2 comments').waitFor(slow)
    await page.getByText('Suggested change').first().waitFor(slow)
    await page.getByRole('button', { name: 'Save review' }).click()
    const all = page.getByRole('button', { name: 'Apply 2 suggestions' })
    await all.waitFor(slow)
    await page.getByText('Your review: 2 comments').waitFor({ ...slow, state: 'detached' })
    await page.getByText('Retry it.').waitFor(slow)
    await expectItLooksRight(story, 'suggestions-threads')

    await all.click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('checkbox', { name: 'src/deliver.ts:2' }).waitFor(slow)
    await expectItLooksRight(story, 'suggestions-dialog')
    await dialog.getByLabel('Commit message').fill('Apply the review')
    await dialog.getByRole('button', { name: 'Apply 2 suggestions' }).click()
    await dialog.waitFor({ ...slow, state: 'detached' })
    // The diff is of the new head, and the conversation has the commit.
    await page.getByText('export const wait = 250').first().waitFor(slow)
    await page.getByRole('tab', { name: /^Conversation/ }).click()
    await page.getByText('resolved', { exact: true }).nth(1).waitFor(slow)
    // A thread that was on the screen before it was resolved stays open.
    const first = page.getByRole('button', { name: /^(Show|Hide)$/ }).first()
    if ((await first.textContent()) === 'Show') await first.click()
    await page
      .getByText(/^done in [0-9a-f]{10}$/)
      .first()
      .waitFor(slow)
    await git(clone, 'pull', '--quiet', 'origin', 'retry')
    expect(await git(clone, 'log', '-1', '--format=%an: %s')).toBe('Owner: Apply the review')
    expect(await Bun.file(join(clone, 'src/wait.ts')).text()).toBe('export const wait = 250\n')
    expect(await Bun.file(join(clone, 'src/deliver.ts')).text()).toContain(
      '  const reply = await retry(() => post(event))\n',
    )
    expect(complaints).toEqual([])
  },
  180_000,
)

test.skipIf(!browserPath)(
  'a suggestion whose lines changed meanwhile is refused with the reason',
  async () => {
    const { page, server } = story
    const of = ['--project', project.project_id]
    const text = 'Wait longer.\n\n```suggestion\nexport const wait = 900\n```'
    await server.json(['cr', 'comment', '1', '--at', 'src/wait.ts:1', '--body', text, ...of])
    await page.goto(`${server.url}/projects/${project.slug}/change-requests/1?tab=conversation`)
    const card = page.getByRole('article', { name: /^Comment by/ }).filter({ hasText: 'Wait longer.' })
    // It came from the command line, without the line that it replaces.
    await card.locator('code').filter({ hasText: 'Removed:' }).getByText('export const wait = 250').waitFor(slow)
    await card.getByRole('button', { name: 'Apply suggestion' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByText('One commit by you on').waitFor(slow)
    // The agent pushes while the dialog is open, so the page does not know of it yet.
    await page.route('**/suggestions/apply', async (route) => {
      await commit({ 'src/wait.ts': 'export const wait = 100\n' })
      await git(clone, 'push', '--quiet', 'origin', 'retry')
      await route.continue()
    })
    await dialog.getByRole('button', { name: 'Apply suggestion' }).click()
    await dialog.getByText('"retry" has changed since you viewed it.').waitFor(slow)
    await dialog.getByText(/Look at its current commits/).waitFor(slow)
    await page.unrouteAll({ behavior: 'wait' })
    await dialog.getByRole('button', { name: 'Cancel' }).click()
    await card.getByText("Can't apply the suggestion. Its lines changed since it was written.").waitFor(slow)
    expect(await card.getByRole('button', { name: 'Apply suggestion' }).count()).toBe(0)
    await expectItLooksRight(story, 'suggestions-refused')
  },
  180_000,
)
