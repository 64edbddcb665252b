/** What an operator sees of the server in the dashboard. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { join } from 'node:path'
import { browserPath } from './browser.ts'
import { makeFirstCommit } from './harness.ts'
import { axeViolations, beginPageStory, expectItFits, type PageStory, pictures } from './page-story.ts'

let story: PageStory
beforeAll(async () => {
  if (!browserPath) return
  story = await beginPageStory({ SVC_SANDBOX_DRIVER: 'none', SVC_KEEP_AUDIT: '26w' })
  const project = await story.server.json<{ project_id: string }>(['projects', 'create', '--name', 'garden'])
  await makeFirstCommit(story.server, project.project_id)
}, 180_000)
afterAll(async () => {
  await story?.end()
}, 120_000)

test.skipIf(!browserPath)(
  'an owner sees what is missing with what to do, what uses the disk, and how long it is kept',
  async () => {
    const { page, server, complaints } = story
    await page.goto(server.url)
    await page.getByRole('button', { name: 'Account menu' }).click()
    await page.getByRole('menuitem', { name: 'Server' }).click()
    const reach = page.getByRole('region', { name: 'reach' })
    await reach.getByText('none is set, so no agent can work').waitFor()
    await reach.getByText('Set one in the dashboard: Model in the account menu.').waitFor()
    await page.getByText('2 findings need a look.').waitFor()
    const kept = page.getByRole('region', { name: 'How long rows are kept' })
    await kept.getByRole('row', { name: 'audit 182 days' }).getByText('SVC_KEEP_AUDIT').waitFor()
    await page.getByRole('region', { name: 'Largest projects' }).getByRole('row', { name: 'garden' }).waitFor()
    for (const [colorScheme, width] of [
      ['light', 1440],
      ['dark', 1024],
      ['light', 360],
    ] as const) {
      await page.emulateMedia({ colorScheme })
      await page.setViewportSize({ width, height: 800 })
      expect(await axeViolations(page)).toEqual([])
      await expectItFits(page)
      await page.screenshot({ path: join(pictures, `server-${colorScheme}-${width}.png`), fullPage: true })
    }
    expect(complaints).toEqual([])
  },
  180_000,
)
