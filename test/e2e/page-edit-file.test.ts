/** A person edits a file in the browser: the edit keeps the bytes around it and becomes a change request. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdtemp } from 'node:fs/promises'
import { join } from 'node:path'
import { browserPath } from './browser.ts'
import { git } from './harness.ts'
import { axeViolations, beginPageStory, expectItFits, gatewayOf, type PageStory, takePictures } from './page-story.ts'

let story: PageStory
let project: { project_id: string; slug: string }
let clone: string
const slow = { timeout: 60_000 }

beforeAll(async () => {
  if (!browserPath) return
  story = await beginPageStory({ SVC_SANDBOX_DRIVER: 'none' })
  const { server } = story
  project = await server.json(['projects', 'create', '--name', 'edit'])
  clone = await mkdtemp(join(server.dir, 'clone-'))
  await git(clone, 'init', '--quiet', '--initial-branch=main')
  await git(clone, 'remote', 'add', 'origin', gatewayOf(server, project))
  const files = {
    'docs/mixed.txt': 'first\r\nsecond\r\nthird\nlast without an end',
    'svc.toml': 'svc_version = 1\n',
    'data.bin': new Uint8Array([0, 1, 2]),
  }
  for (const [path, content] of Object.entries(files)) await Bun.write(join(clone, path), content)
  await git(clone, 'add', '--all', '.')
  await git(clone, 'commit', '--quiet', '-m', 'start')
  await git(clone, 'push', '--quiet', 'origin', 'main')
}, 180_000)
afterAll(() => story?.end(), 120_000)

const go = (path: string) => story.page.goto(`${story.server.url}/projects/${project.slug}/${path}`)
const text = () => story.page.getByRole('textbox', { name: /^Content of/ })
const propose = () => story.page.getByRole('button', { name: 'Propose change' })

async function look(name: string): Promise<void> {
  const { page, complaints } = story
  expect(complaints).toEqual([])
  expect(await axeViolations(page)).toEqual([])
  await takePictures(page, name)
  await expectItFits(page)
  // axe makes style elements of its own, which the page's policy refuses.
  complaints.length = 0
  await page.setViewportSize({ width: 1280, height: 800 })
}

test.skipIf(!browserPath)(
  'an edit keeps line endings and a missing last one, and opens a change request',
  async () => {
    const { page } = story
    await go('files?path=docs/mixed.txt')
    await page.getByRole('link', { name: 'Edit', exact: true }).click(slow)
    await text().waitFor(slow)
    // A button that is off takes the focus and says why; the browser's driver calls it disabled.
    await propose().click({ force: true })
    await page.getByText('Nothing is changed yet').waitFor()
    await text().fill('first\nsecond, edited\nnew\nthird\nlast without an end')
    await page.getByLabel('Title').fill('Say more')
    await look('edit-file')
    await propose().click()
    await page.waitForURL('**/change-requests/1', slow)
    await page.getByRole('heading', { name: /Say more/ }).waitFor(slow)
    await page.getByText('second, edited').first().waitFor(slow)
    await git(clone, 'fetch', '--quiet', 'origin')
    const [, branch] = /origin\/(svc\/edit-\w+)/.exec(await git(clone, 'branch', '--remotes')) ?? []
    expect(await Bun.$`git show origin/${branch}:docs/mixed.txt`.cwd(clone).text()).toBe(
      'first\r\nsecond, edited\r\nnew\r\nthird\nlast without an end',
    )
  },
  180_000,
)

test.skipIf(!browserPath)(
  'an edit of svc.toml shows its effects in the change request',
  async () => {
    const { page } = story
    await go('files?path=svc.toml&view=edit')
    await text().waitFor(slow)
    await page.keyboard.press('Tab')
    await text().fill(
      'svc_version = 1\n\n[[triggers]]\nslug = "nightly"\ntype = "cron"\ncron = "0 3 * * *"\nprompt = "Tidy up"\n',
    )
    await propose().click()
    await page.waitForURL('**/change-requests/2', slow)
    await page.getByText('nightly').first().waitFor(slow)
  },
  180_000,
)

test.skipIf(!browserPath)(
  'an edit of a file that changed meanwhile is refused, and the text stays',
  async () => {
    const { page } = story
    await go('files?path=docs/mixed.txt&view=edit')
    await text().fill('mine')
    await story.server.json(['cr', 'merge', '1', '--yes', '--project', project.project_id])
    await propose().click()
    await page.getByText('docs/mixed.txt changed on main since you opened it.').waitFor(slow)
    await page.getByRole('link', { name: 'Open the current file' }).waitFor()
    expect(await text().inputValue()).toBe('mine')
    await look('edit-file-conflict')
    page.once('dialog', (dialog) => void dialog.accept())
    await page.getByRole('link', { name: 'Cancel' }).click()
    await page.getByText('second, edited').first().waitFor(slow)
  },
  180_000,
)

test.skipIf(!browserPath)(
  'a file at a commit says why it cannot be edited, and a binary file offers no edit',
  async () => {
    const { page } = story
    const sha = (await git(clone, 'rev-parse', 'HEAD')).trim()
    await go(`files?ref=${sha}&path=svc.toml&view=edit`)
    await page.getByRole('button', { name: 'Edit', exact: true }).click({ ...slow, force: true })
    await page.getByText('Choose a branch to edit the file.').waitFor()
    await go('files?path=data.bin')
    await page.getByText('Binary file. Download it').waitFor(slow)
    expect(await page.getByText('Edit', { exact: true }).count()).toBe(0)
  },
  180_000,
)
