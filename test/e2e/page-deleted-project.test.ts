/** A browser that deletes a project, and restores it from home and from the list of projects. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { browserPath } from './browser.ts'
import { axeViolations, beginPageStory, type PageStory, pictures } from './page-story.ts'

let story: PageStory
let project: { project_id: string; slug: string }
beforeAll(async () => {
  if (!browserPath) return
  story = await beginPageStory({ SVC_SANDBOX_DRIVER: 'none' })
  project = await story.server.json(['projects', 'create', '--name', 'garden'])
  await mkdir(pictures, { recursive: true })
}, 180_000)
afterAll(() => story?.end(), 120_000)

test.skipIf(!browserPath)(
  'an owner deletes a project, sees until when it can be restored, and restores it',
  async () => {
    const { page, server, complaints } = story
    const deletes = async (slug: string) => {
      await page.goto(`${server.url}/projects/${slug}/settings`)
      await page.getByText('You can restore the project from the Projects page for thirty').waitFor()
      await page.getByRole('button', { name: 'Delete project', exact: true }).click()
      await page.getByText(/The project can be restored until \d{4}-\d\d-\d\d\./).waitFor()
      expect(await axeViolations(page)).toEqual([])
      await page.screenshot({ path: join(pictures, 'delete-project-light-1280.png') })
      await page.getByRole('button', { name: 'Delete project' }).click()
      await page.getByRole('heading', { name: 'Deleted projects' }).waitFor()
    }
    await deletes(project.slug)
    expect(await axeViolations(page)).toEqual([])
    await page.screenshot({ path: join(pictures, 'deleted-projects-light-1280.png'), fullPage: true })
    await page.getByText(/garden · can be restored until \d{4}-\d\d-\d\d/).waitFor()
    // With no other project home offers it, too.
    await page.goto(server.url)
    await page.getByRole('button', { name: 'Restore garden' }).waitFor()
    expect(await axeViolations(page)).toEqual([])
    await page.screenshot({ path: join(pictures, 'home-deleted-light-1280.png'), fullPage: true })
    await page.getByRole('button', { name: 'Restore garden' }).click()
    await page.getByRole('button', { name: 'Restore garden' }).waitFor({ state: 'detached' })
    const restored = await server.json<{ project_id: string }>(['projects', 'info', project.slug])
    expect(restored.project_id).toBe(project.project_id)

    await deletes(project.slug)
    // Another project takes the slug meanwhile.
    await server.json(['projects', 'create', '--name', 'garden'])
    await page.goto(`${server.url}/projects`)
    await page.getByRole('button', { name: 'Restore garden' }).click()
    await page.getByRole('heading', { name: 'Deleted projects' }).waitFor({ state: 'detached' })
    const again = await server.json<{ project_id: string }>(['projects', 'info', 'garden-2'])
    expect(again.project_id).toBe(project.project_id)
    expect(complaints).toEqual([])
  },
  120_000,
)
