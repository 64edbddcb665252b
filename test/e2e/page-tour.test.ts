/** A first visit without a terminal and without a mouse: the tour up to its merge, and the first commit of an empty repository. */
import { expect, test } from 'bun:test'
import { browserPath } from './browser.ts'
import { beginPageStory, expectItLooksRight, pressTabTo } from './page-story.ts'

const slow = { timeout: 180_000 }
const wide = { width: 1280, height: 900 }

test.skipIf(!browserPath)(
  'the tour leads from the sign-in link to a merged change request by the keyboard alone',
  async () => {
    const story = await beginPageStory()
    const { page, server, complaints } = story
    try {
      await page.getByRole('heading', { name: 'See the whole workflow first' }).waitFor()
      await expectItLooksRight(story, 'tour-first-visit')
      await page.setViewportSize(wide)
      await pressTabTo(page, /^Take the tour$/)
      await page.keyboard.press('Enter')
      await page.waitForURL('**/projects/svc-tour/sessions/*', slow)
      await page.getByText('This is the tour').waitFor()
      await page.getByRole('article', { name: 'Prompt' }).waitFor(slow)
      await page.getByRole('link', { name: '#1 Add a greeting' }).first().waitFor(slow)
      await page.getByText('ready for review', { exact: true }).waitFor(slow)
      await expectItLooksRight(story, 'tour-session')
      await page.setViewportSize(wide)

      await page.getByRole('link', { name: 'Review #1' }).press('Enter')
      await page.getByText('Merges cleanly').waitFor(slow)
      await expectItLooksRight(story, 'tour-change-request')
      await page.setViewportSize(wide)
      await pressTabTo(page, /^Merge into main/)
      await page.keyboard.press('Enter')
      await page.getByText(/ merged this into main as/).waitFor(slow)
      const file = await server.api('/v1/projects/svc-tour/file?path=index.html')
      expect(((await file.json()) as { content: string }).content).toContain('Hello from a scripted session.')

      await page.getByRole('link', { name: 'Delete this project' }).press('Enter')
      await page.getByRole('heading', { name: 'Delete project' }).waitFor()
      expect(complaints).toEqual([])
    } finally {
      await story.end()
    }
  },
  900_000,
)

test.skipIf(!browserPath)(
  'a server without sandboxes says so before the tour creates anything, and an empty repository starts with a README',
  async () => {
    const story = await beginPageStory({ SVC_SANDBOX_DRIVER: 'none' })
    const { page, server, complaints } = story
    try {
      await page.getByRole('button', { name: 'Take the tour' }).press('Enter')
      await page.getByText("This server can't start sandboxes, so no agent can run here.").waitFor()
      await page.getByText('The server was started without a sandbox driver.').waitFor()
      await expectItLooksRight(story, 'tour-no-sandboxes')
      await page.setViewportSize(wide)
      expect(await server.json<unknown[]>(['projects', 'ls'])).toEqual([])

      await page.getByLabel('Name').fill('Garden')
      await page.getByRole('button', { name: 'Create project' }).press('Enter')
      await page.getByText('This repository is empty').waitFor()
      await expectItLooksRight(story, 'empty-repository')
      await page.setViewportSize(wide)
      await page.getByRole('button', { name: 'Start with a README' }).press('Enter')
      await page.getByLabel(/Task/).waitFor()
      await page.goto(`${server.url}/projects/garden/files`)
      await page.getByRole('link', { name: 'README.md' }).waitFor()
      expect(complaints).toEqual([])
    } finally {
      await story.end()
    }
  },
  600_000,
)
