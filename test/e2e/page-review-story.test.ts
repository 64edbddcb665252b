/** The whole path in a browser: first visit, a session, a review sent to it, the agent's answer, the merge. */
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
  takePictures,
} from './page-story.ts'

const slow = 120_000
let story: PageStory

beforeAll(async () => {
  if (browserPath) story = await beginPageStory()
}, 180_000)
afterAll(() => story?.end(), 120_000)

async function startSession(prompt: string): Promise<void> {
  const { page } = story
  await page.getByLabel(/Task/).fill(prompt)
  await page.getByText('Agent, branch, and model').click()
  await page.getByRole('combobox', { name: /^Model/ }).fill('svc-scripted-demo')
  await page.getByRole('button', { name: 'Start' }).click()
}

test.skipIf(!browserPath)(
  "a first visit leads to a session, a review, the agent's reply, and a merge",
  async () => {
    const { page, server, complaints } = story
    // Nothing is there yet: three steps, which the page itself takes.
    await page.getByRole('heading', { name: 'Merge your first change in three steps' }).waitFor()
    await page.screenshot({ path: join(pictures, 'first-visit-1280.png') })
    await page.getByLabel('Name').fill('Garden')
    await page.getByRole('button', { name: 'Create project' }).click()
    await page.getByText('This repository is empty').waitFor()
    await page.screenshot({ path: join(pictures, 'first-visit-empty-1280.png') })
    const [project] = await server.json<{ project_id: string; slug: string }[]>(['projects', 'ls'])
    const seed = await mkdtemp(join(server.dir, 'seed-'))
    await git(seed, 'init', '--quiet', '--initial-branch=main')
    await Bun.write(join(seed, 'plan.md'), 'Plant beans.\nWater them.\nWait.\n')
    await git(seed, 'add', '.')
    await git(seed, 'commit', '--quiet', '-m', 'The plan')
    await git(seed, 'push', '--quiet', gatewayOf(server, project!), 'main')

    await page.getByLabel(/Task/).waitFor()
    await page.screenshot({ path: join(pictures, 'first-visit-task-1280.png') })
    await startSession(
      script(
        "sed -i 's/beans/peas/' plan.md && git commit -qam 'Peas, not beans' && git push -q origin HEAD",
        "svc cr open --title 'Plant peas' --description 'Beans are out.'",
      ),
    )
    await page.getByRole('article', { name: 'Prompt' }).waitFor({ timeout: slow })
    await page.getByRole('link', { name: '#1 Plant peas' }).waitFor({ timeout: slow })
    await page.getByText('All 2 commands of the script ran.').waitFor({ timeout: slow })
    // The page and the list show the same state.
    await page.getByText('ready for review', { exact: true }).waitFor({ timeout: slow })
    await page.screenshot({ path: join(pictures, 'session-live-1280.png') })
    await page.getByRole('navigation', { name: 'Project' }).getByRole('link', { name: 'Sessions' }).click()
    await page.getByText('ready for review', { exact: true }).waitFor({ timeout: slow })
    await page.getByRole('link', { name: 'Review #1' }).click()
    await page.getByText('Merges cleanly').waitFor()
    await page.getByRole('region', { name: 'Task' }).filter({ hasText: 'Peas, not beans' }).waitFor()

    // The session sleeps; the review wakes it.
    await page.getByRole('main').locator('header a[href*="/sessions/"]').first().click()
    await page.getByRole('button', { name: 'Stop session' }).click()
    await page.getByRole('button', { name: 'Restart session' }).waitFor({ timeout: slow })
    await page.goBack()
    await page.getByRole('tab', { name: 'Files' }).click()
    await page.getByText('0 of 1 file viewed').waitFor()
    await page
      .getByRole('button', { name: /plan\.md/ })
      .first()
      .click()
    await page.keyboard.press('c')
    await page
      .getByLabel(/^Comment on line 1/)
      .fill(
        script(
          "sed -i 's/peas/sweet peas/' plan.md && git commit -qam 'Sweet ones' && git push -q origin HEAD",
          'svc cr answer "$(svc cr reviews @ --open | cut -f1)" --cr 1 --done --body "Sweet ones now."',
        ),
      )
    await page.keyboard.press('Control+Enter')
    await page.getByText('Your review: 1 comment').waitFor()
    await page.getByLabel(/Summary/).fill('Nearly.')
    await page.screenshot({ path: join(pictures, 'review-draft-1280.png') })
    await page.getByRole('button', { name: 'Send review' }).click()
    await page.getByText('Your review: 0 comments').waitFor()

    await page.getByRole('tab', { name: 'Conversation' }).click()
    await page.getByText('Nearly.').waitFor()
    await page.getByText(/New commits since this review: 1 commit\./).waitFor({ timeout: slow })
    await page.getByText('Sweet ones now.', { exact: true }).waitFor({ timeout: slow })
    await page.getByText('Answered', { exact: true }).waitFor()
    await page.screenshot({ path: join(pictures, 'review-answered-1280.png') })
    await page.getByRole('link', { name: 'See changes' }).click()
    await page.getByText('Changes since').waitFor()
    await page.getByText('sweet peas').last().waitFor()
    // The thread stands where the comment was, or beside the diff once its line changed.
    await page.getByText('1 comment on an earlier version').click()
    const thread = page.getByRole('article', { name: /^Comment by/ })
    await thread
      .getByText(/^done in [0-9a-f]{10}$/)
      .first()
      .waitFor()
    await thread.getByText('outdated').waitFor()
    await page.screenshot({ path: join(pictures, 'review-thread-1280.png') })
    expect(await axeViolations(page)).toEqual([])
    // axe makes style elements of its own, which the page's policy refuses.
    expect(complaints.splice(0).filter((text) => !text.includes('Content Security Policy'))).toEqual([])
    await thread.getByRole('button', { name: 'Resolve' }).click()
    await page.getByText('1 comment on an earlier version').waitFor({ state: 'detached' })
    await page.getByRole('button', { name: /v2/ }).waitFor()
    await page.goBack()
    await page.getByText('resolved', { exact: true }).waitFor()
    await page.getByRole('button', { name: 'Merge into main' }).click()
    await page.getByText(/ merged this into main as/).waitFor()
    await git(seed, 'pull', '--quiet', gatewayOf(server, project!), 'main')
    expect(await Bun.file(join(seed, 'plan.md')).text()).toBe('Plant sweet peas.\nWater them.\nWait.\n')

    await page.getByRole('navigation', { name: 'Project' }).getByRole('link', { name: 'Branches' }).click()
    await page.getByRole('listitem').filter({ hasText: 'merged' }).getByRole('link', { name: 'in #1' }).click()

    // The session was woken by one prompt, which holds the review as a whole.
    await page.getByRole('main').locator('header a[href*="/sessions/"]').first().click()
    const prompts = page.getByRole('article', { name: 'Prompt' })
    await prompts.nth(1).waitFor()
    expect(await prompts.count()).toBe(2)
    expect(await prompts.nth(1).textContent()).toContain('Review of change request #1')
    expect(await prompts.nth(1).textContent()).toContain('plan.md:1')
    await page.setViewportSize({ width: 360, height: 740 })
    await expectItFits(page)
    await page.screenshot({ path: join(pictures, 'session-live-360.png') })

    // The Usage page shows the tokens by session and the cap, which is set there.
    for (const [address, cap] of [
      [`/projects/${project!.slug}/usage`, 'Project, per month'],
      ['/account/usage', 'Account, per month'],
    ] as const) {
      await page.goto(server.url + address)
      await page.getByLabel(cap).fill('0')
      await page.getByRole('button', { name: 'Save' }).click()
      await page.getByText('Saved.').waitFor()
      const row = page.getByRole('region', { name: 'By session' }).getByRole('row').nth(1)
      await row.waitFor()
      expect(await row.getByRole('cell').first().textContent()).toMatch(/\d (s|min)$/)
      await page.getByText('cap reached').first().waitFor()
      await expectItFits(page)
      await takePictures(page, `usage-filled-${address.split('/')[1]}`, { fullPage: true })
    }
    await page.setViewportSize({ width: 1280, height: 800 })
    expect(complaints).toEqual([])
  },
  4 * slow,
)
