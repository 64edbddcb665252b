/** Text that a person typed in a page and did not send yet, in a browser: it survives Escape, other tabs and a reload. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdtemp } from 'node:fs/promises'
import { join } from 'node:path'
import { browserPath } from './browser.ts'
import { git, until } from './harness.ts'
import { beginPageStory, expectItFits, gatewayOf, type PageStory, takePictures } from './page-story.ts'

let story: PageStory
let project: { project_id: string; slug: string }
let clone: string
const slow = { timeout: 60_000 }
const limit = 180_000

beforeAll(async () => {
  if (!browserPath) return
  story = await beginPageStory({ SVC_SANDBOX_DRIVER: 'none' }, { viewport: { width: 1440, height: 900 } })
  const { server } = story
  project = await server.json(['projects', 'create', '--name', 'payments'])
  clone = await mkdtemp(join(server.dir, 'clone-'))
  await git(clone, 'init', '--quiet', '--initial-branch=main')
  await git(clone, 'remote', 'add', 'origin', gatewayOf(server, project))
  await commit('README.md', 'Payments\n')
  await git(clone, 'push', '--quiet', 'origin', 'main')
  await git(clone, 'checkout', '--quiet', '-b', 'retry')
  await commit('src/wait.ts', 'export const wait = 500\n')
  await git(clone, 'push', '--quiet', 'origin', 'retry')
  await server.json(['cr', 'open', '--title', 'Retry deliveries', '--head', 'retry', '--project', project.project_id])
}, limit)
afterAll(() => story?.end(), 120_000)

async function commit(path: string, content: string): Promise<void> {
  await Bun.write(join(clone, path), content)
  await git(clone, 'add', '--all', '.')
  await git(clone, 'commit', '--quiet', '-m', 'Work')
}

const comment = () => story.page.getByLabel('Comment on line 1 of src/wait.ts')
const dialog = () => story.page.getByRole('alertdialog')
const files = () => story.page.getByRole('navigation', { name: 'Changed files' })

async function showFiles(): Promise<void> {
  await story.page.goto(`${story.server.url}/projects/${project.slug}/change-requests/1`)
  await story.page.getByText('0 of 1 file viewed').waitFor(slow)
}

/** With the page's own key. */
async function beginComment(): Promise<void> {
  await files()
    .getByRole('button', { name: /wait\.ts/ })
    .click()
  await story.page.getByText('export const wait = 500').first().waitFor(slow)
  await story.page.keyboard.press('c')
  await comment().waitFor(slow)
}

/** What the pages keep of typed text. The router and the sign-in keep keys of their own. */
const kept = () =>
  story.page.evaluate('Object.keys(sessionStorage).filter((key) => /^svc-(com|edit|merge|new|rep|rev)/.test(key))')

test.skipIf(!browserPath)(
  'Escape asks before it discards a typed comment, and belongs to an input method that composes',
  async () => {
    const { page, complaints } = story
    await showFiles()
    await beginComment()
    await page.keyboard.press('Escape')
    await comment().waitFor({ ...slow, state: 'detached' })

    await beginComment()
    await comment().fill('Why half a second?')
    await comment().evaluate((field) =>
      field.dispatchEvent(new KeyboardEvent('keydown', { key: 'Escape', bubbles: true, isComposing: true })),
    )
    expect([await comment().inputValue(), await dialog().count()]).toEqual(['Why half a second?', 0])

    await comment().press('Escape')
    await dialog().getByText('Discard what you typed?').waitFor(slow)
    await expectItFits(page)
    await takePictures(page, 'typed-escape')
    await page.setViewportSize({ width: 1440, height: 900 })
    await dialog().getByRole('button', { name: 'Cancel' }).click()
    await dialog().waitFor({ ...slow, state: 'detached' })
    expect(await comment().inputValue()).toBe('Why half a second?')

    await comment().press('Escape')
    await dialog().getByRole('button', { name: 'Discard' }).click()
    await comment().waitFor({ ...slow, state: 'detached' })
    await beginComment()
    expect(await comment().inputValue()).toBe('')
    await comment().press('Escape')
    expect(complaints).toEqual([])
  },
  limit,
)

test.skipIf(!browserPath)(
  'a comment and a summary that are half typed are there after another tab, a reload, and until they are sent',
  async () => {
    const { page, complaints } = story
    await showFiles()
    await beginComment()
    await comment().fill('Why half a')
    await page.getByLabel('Summary').fill('Nearly.')
    await page.getByRole('tab', { name: 'Commits' }).click()
    await page.getByRole('list', { name: 'Commits' }).waitFor(slow)
    await page.getByRole('tab', { name: /^Files/ }).click()
    await comment().waitFor(slow)
    expect([await comment().inputValue(), await page.getByLabel('Summary').inputValue()]).toEqual([
      'Why half a',
      'Nearly.',
    ])
    await page.reload()
    await comment().waitFor(slow)
    expect([await comment().inputValue(), await page.getByLabel('Summary').inputValue()]).toEqual([
      'Why half a',
      'Nearly.',
    ])

    await comment().fill('Why half a second?')
    await comment().press('Control+Enter')
    await page.getByText('Your review: 1 comment').waitFor(slow)
    // The form of a pending comment goes back to the stored text.
    await page.getByRole('button', { name: 'Edit', exact: true }).last().click()
    await comment().fill('Why?')
    await page.getByRole('button', { name: 'Discard' }).click()
    await dialog().getByRole('button', { name: 'Discard' }).click()
    await page.getByText('Why half a second?').waitFor(slow)
    await page.getByRole('button', { name: 'Save review' }).click()
    await page.getByText('Your review: 0 comments').waitFor(slow)
    expect(await page.getByLabel('Summary').inputValue()).toBe('')

    // A reply is the same.
    await page.getByRole('tab', { name: /^Conversation/ }).click()
    await page.getByRole('button', { name: 'Reply' }).first().click()
    await page.getByLabel('Reply').fill('Because the')
    await page.reload()
    await page.getByLabel('Reply').waitFor(slow)
    expect(await page.getByLabel('Reply').inputValue()).toBe('Because the')
    await page.getByLabel('Reply').press('Control+Enter')
    await page.getByLabel('Reply').waitFor({ ...slow, state: 'detached' })
    await page.getByText('Because the').first().waitFor(slow)
    await page.reload()
    await page.getByText('Because the').first().waitFor(slow)
    expect(await page.getByLabel('Reply').count()).toBe(0)
    expect(await kept()).toEqual([])
    expect(complaints).toEqual([])
  },
  limit,
)

test.skipIf(!browserPath)(
  'a comment that the server did not take while its form was gone is in its form again',
  async () => {
    const { page } = story
    await showFiles()
    await beginComment()
    await comment().fill('Ten minutes of thinking')
    const answer = Promise.withResolvers<void>()
    await page.route('**/review-state', async (route) => {
      if (route.request().method() !== 'PATCH') return route.continue()
      await answer.promise
      await route.abort('connectionrefused')
    })
    await comment().press('Control+Enter')
    await page.getByRole('tab', { name: 'Commits' }).click()
    await page.getByRole('list', { name: 'Commits' }).waitFor(slow)
    answer.resolve()
    await until('the text is kept', () => page.evaluate("JSON.stringify(sessionStorage).includes('Ten minutes')"))
    await page.unrouteAll({ behavior: 'wait' })
    await page.getByRole('tab', { name: /^Files/ }).click()
    await comment().waitFor(slow)
    expect(await comment().inputValue()).toBe('Ten minutes of thinking')
    await comment().press('Escape')
    await dialog().getByRole('button', { name: 'Discard' }).click()
    await comment().waitFor({ ...slow, state: 'detached' })
  },
  limit,
)

test.skipIf(!browserPath)(
  'a merge message and an edited title are there after another page and a reload, until they are sent',
  async () => {
    const { page, server, complaints } = story
    await git(clone, 'checkout', '--quiet', '-b', 'license', 'main')
    await commit('LICENSE', 'Free\n')
    await git(clone, 'push', '--quiet', 'origin', 'license')
    const of = ['--project', project.project_id]
    await server.json(['cr', 'open', '--title', 'License', '--head', 'license', ...of])
    await server.json(['cr', 'merge', '2', '--yes', ...of])
    const [title, description] = [page.getByLabel('Title'), page.getByLabel('Description (Markdown)')]
    const message = page.getByLabel('Merge commit message')
    await showFiles()
    await page.getByRole('button', { name: 'Edit message' }).click()
    await message.fill('Retry, and')
    await page.getByRole('button', { name: 'Edit', exact: true }).click()
    await title.fill('Retry each delivery')
    await page.getByRole('link', { name: 'Sessions' }).first().click()
    await page.getByLabel('Task (optional)').waitFor(slow)
    await page.goBack()
    await title.waitFor(slow)
    await message.waitFor(slow)
    await page.reload()
    await title.waitFor(slow)
    await message.waitFor(slow)
    expect([await title.inputValue(), await description.inputValue(), await message.inputValue()]).toEqual([
      'Retry each delivery',
      '',
      'Retry, and',
    ])

    await page.getByRole('button', { name: 'Cancel', exact: true }).click()
    await dialog().getByText('Discard what you typed?').waitFor(slow)
    await dialog().getByRole('button', { name: 'Cancel' }).click()
    await dialog().waitFor({ ...slow, state: 'detached' })
    // The save keeps what another person wrote meanwhile.
    await server.json(['cr', 'edit', '1', '--body', 'Why.', ...of])
    await page.getByRole('button', { name: 'Save changes' }).click()
    await page.getByRole('heading', { name: 'Retry each delivery' }).waitFor(slow)
    const { change_request: saved } = await server.json<{ change_request: { description: string } }>([
      ...['cr', 'show', '1', ...of],
    ])
    expect(saved.description).toBe('Why.')

    await message.fill('Retry, and wait')
    await page.getByRole('button', { name: 'Merge into main' }).click()
    await page.getByText('merged this into').waitFor(slow)
    await git(clone, 'fetch', '--quiet', 'origin')
    expect(await git(clone, 'log', '-1', '--format=%s', 'origin/main')).toBe('Retry, and wait')
    expect(await kept()).toEqual([])
    expect(complaints).toEqual([])
  },
  limit,
)

test.skipIf(!browserPath)(
  'a task that is half typed is there after another page and a reload, and goes with a sign-out',
  async () => {
    const { page, server, complaints } = story
    const sessions = `${server.url}/projects/${project.slug}/sessions`
    const task = page.getByLabel('Task (optional)')
    await page.goto(sessions)
    await task.fill('Add retries to\n')
    await page.getByRole('link', { name: 'Change requests' }).first().click()
    await page.getByRole('heading', { name: 'Change requests' }).first().waitFor(slow)
    await page.goBack()
    await task.waitFor(slow)
    expect(await task.inputValue()).toBe('Add retries to\n')
    await page.reload()
    await task.waitFor(slow)
    expect(await task.inputValue()).toBe('Add retries to\n')
    await page.getByText('Account menu').click()
    await page.getByRole('menuitem', { name: 'Sign out' }).click()
    await page.waitForURL(/sign-in/)
    expect(await kept()).toEqual([])
    expect(complaints).toEqual([])
  },
  limit,
)
