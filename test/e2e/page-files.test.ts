/** The files of a change in a browser: without whitespace, with the lines around, images, names, and what came since. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdtemp, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { browserPath } from './browser.ts'
import { git, until } from './harness.ts'
import { beginPageStory, expectItFits, gatewayOf, type PageStory, pictures } from './page-story.ts'

let story: PageStory
let clone: string
let project: { project_id: string; slug: string }
const slow = { timeout: 60_000 }

const lines = (change: Record<number, string | null> = {}) =>
  Array.from(
    { length: 200 },
    (_, i) => change[i + 1] ?? (change[i + 1] === null ? '' : `const line${i + 1} = ${i + 1}`),
  )
    .join('\n')
    .concat('\n')

/** One pixel, red or blue. */
const png = (blue: boolean) =>
  Buffer.from(
    blue
      ? 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPj/HwADBwIAMCbHYQAAAABJRU5ErkJggg=='
      : 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==',
    'base64',
  )

async function commit(files: Record<string, string | Uint8Array>, message: string): Promise<void> {
  for (const [path, content] of Object.entries(files)) await Bun.write(join(clone, path), content)
  await git(clone, 'add', '--all', '.')
  await git(clone, 'commit', '--quiet', '-m', message)
}

beforeAll(async () => {
  if (!browserPath) return
  story = await beginPageStory({ SVC_SANDBOX_DRIVER: 'none' })
  const { server } = story
  project = await server.json(['projects', 'create', '--name', 'files'])
  clone = await mkdtemp(join(server.dir, 'clone-'))
  await git(clone, 'init', '--quiet', '--initial-branch=main')
  await git(clone, 'remote', 'add', 'origin', gatewayOf(server, project))
  const block = 'export function greet() {\nreturn 1\n}\n'
  await commit(
    {
      'src/long.ts': lines(),
      'src/indent.ts': block,
      'src/only.ts': block,
      'logo.png': png(false),
      'old.md': 'a\nb\nc\nd\n',
    },
    'First',
  )
  await git(clone, 'push', '--quiet', 'origin', 'main')
  await git(clone, 'checkout', '--quiet', '-b', 'work')
  await git(clone, 'mv', 'old.md', 'new.md')
  await commit(
    {
      'src/long.ts': lines({ 60: 'const changed = 60', 140: 'const changed = 140' }),
      'src/indent.ts': 'export function greet() {\n  return 1\n}\ngreet()\n',
      'src/only.ts': 'export function greet() {\n\treturn 1\n}\n',
      'logo.png': png(true),
      'data.bin': new Uint8Array([0, 1, 2, 3]),
    },
    'Work',
  )
  await git(clone, 'push', '--quiet', 'origin', 'work')
  await server.json(['cr', 'open', '--title', 'Many files', '--head', 'work', '--project', project.project_id])
}, 180_000)
afterAll(() => story?.end(), 120_000)

const files = (search = '') =>
  story.page.goto(`${story.server.url}/projects/${project.slug}/change-requests/1?tab=files${search}`)
const tree = () => story.page.getByRole('navigation', { name: 'Changed files' })
async function showLong(): Promise<void> {
  await files()
  await tree()
    .getByRole('button', { name: /long\.ts/ })
    .click()
  await story.page.getByText('const changed = 60').first().waitFor(slow)
}
const picture = (name: string) => story.page.screenshot({ path: join(pictures, `files-${name}-1280.png`) })

async function axe(): Promise<void> {
  const { page, complaints } = story
  expect(complaints).toEqual([])
  await page.evaluate(await readFile(require.resolve('axe-core/axe.min.js'), 'utf8'))
  expect(
    await page.evaluate(
      'axe.run().then(({ violations }) => violations.map(({ id, nodes }) => `${id}: ${nodes[0].html.slice(0, 160)}`))',
    ),
  ).toEqual([])
  // axe makes style elements of its own, which the page's policy refuses.
  complaints.length = 0
}

/** The button comes with the pointer, which has to move again when the line was drawn anew under it. */
async function openCommentOn(line: string): Promise<void> {
  const { page } = story
  const button = page.locator('[data-utility-button]')
  const deadline = Date.now() + 60_000
  const appears = () =>
    button
      .first()
      .waitFor({ timeout: 500 })
      .then(() => true)
      .catch(() => false)
  do {
    if (Date.now() > deadline) throw new Error(`No button to comment appeared at "${line}".`)
    await page.mouse.move(5, 5)
    await page.getByText(line).last().hover()
  } while (!(await appears()))
  await button.first().click()
}

test.skipIf(!browserPath)(
  'the diff hides whitespace changes on request and lists the files without other changes',
  async () => {
    const { page } = story
    await files()
    await page.getByText('0 of 6 files viewed').waitFor(slow)
    expect(
      await tree()
        .getByRole('button', { name: /data\.bin/ })
        .textContent(),
    ).toContain('binary')
    for (const word of ['before', 'after'])
      await page.getByRole('img', { name: `logo.png, ${word} the change` }).waitFor(slow)
    const whitespace = page.getByRole('button', { name: 'Ignore whitespace' })
    await whitespace.focus()
    await page.keyboard.press('Enter')
    await page.getByText('0 of 5 files viewed').waitFor(slow)
    await page.getByText('1 file has no other changes: src/only.ts.').waitFor()
    expect(await whitespace.getAttribute('aria-pressed')).toBe('true')
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Ignore whitespace')
    expect(
      await tree()
        .getByRole('button', { name: /indent\.ts/ })
        .textContent(),
    ).toContain('+1 −0')
    await picture('whitespace')
    await axe()
    await page.keyboard.press('w')
    await page.getByText('0 of 6 files viewed').waitFor(slow)
    expect(
      await tree()
        .getByRole('button', { name: /indent\.ts/ })
        .textContent(),
    ).toContain('+2 −1')
  },
  120_000,
)

test.skipIf(!browserPath)(
  'the keyboard expands lines around a change, and a comment on one of them keeps its position',
  async () => {
    const { page } = story
    await showLong()
    expect(await page.getByText('const line40 = 40').count()).toBe(0)
    const above = page.getByRole('button', { name: 'Show 20 more lines above the change below, src/long.ts' }).first()
    await above.focus()
    await picture('gaps')
    await page.keyboard.press('Enter')
    await page.getByText('const line40 = 40').first().waitFor(slow)
    expect(await page.getByText('const line20 = 20').count()).toBe(0)
    // The focus stays at the gap, so the next press shows the next lines.
    await page.keyboard.press('Enter')
    await page.getByText('const line20 = 20').first().waitFor(slow)
    await page.getByRole('button', { name: '16 unmodified lines · Expand all' }).first().press('Enter')
    await page.getByText('const line1 = 1', { exact: true }).first().waitFor(slow)
    await picture('expanded')

    // A comment on a line the patch does not have: its place and its words are of the file at this head.
    await openCommentOn('const line30 = 30')
    await page.getByLabel('Comment on line 30 of src/long.ts').fill('Why not thirty-one?')
    await page.keyboard.press('Control+Enter')
    await page.getByText('Pending comment on line 30').waitFor()
    const kept = await until('the draft is stored', async () => {
      const { change_requests } = await story.server.json<{ change_requests: { cr_id: string }[] }>([
        ...['api', `/v1/projects/${project.project_id}/change-requests`],
      ])
      const path = `/v1/projects/${project.project_id}/change-requests/${change_requests[0]!.cr_id}/review-state`
      const { drafts } = await story.server.json<{ drafts: object[] }>(['api', path])
      return drafts.length > 0 ? drafts : null
    })
    expect(kept).toMatchObject([{ path: 'src/long.ts', side: 'new', line: 30, quote: 'const line30 = 30' }])
    await picture('comment-on-context')
    await page.getByRole('button', { name: 'Delete' }).click()
    await axe()
    await page.setViewportSize({ width: 360, height: 740 })
    await page.emulateMedia({ colorScheme: 'dark' })
    await page.reload()
    await page.getByText('0 of 6 files viewed').waitFor(slow)
    await page
      .getByText('unmodified lines · Expand all')
      .or(page.getByText(/unmodified lines/))
      .first()
      .waitFor(slow)
    await expectItFits(page)
    await axe()
    await page.screenshot({ path: join(pictures, 'files-gaps-360.png') })
    await page.setViewportSize({ width: 1280, height: 800 })
    await page.emulateMedia({ colorScheme: 'light' })
  },
  120_000,
)

test.skipIf(!browserPath)(
  'a comment starts at the first changed line or at the line that the arrow keys chose, and the tree leads to images',
  async () => {
    const { page } = story
    await showLong()
    await page.keyboard.press('c')
    await page.getByLabel('Comment on line 60 of src/long.ts').waitFor()
    await page.keyboard.press('Escape')
    await tree()
      .getByRole('button', { name: /long\.ts/ })
      .focus()
    for (const key of ['ArrowDown', 'ArrowDown', 'ArrowDown']) await page.keyboard.press(key)
    await page.getByText('Line 62, unchanged: const line62 = 62').waitFor({ state: 'attached' })
    await page.keyboard.press('c')
    await page.getByLabel('Comment on line 62 of src/long.ts').waitFor()
    await picture('line-cursor')
    await page.keyboard.press('Escape')
    await tree()
      .getByRole('button', { name: /logo\.png/ })
      .click()
    expect(await page.evaluate('document.activeElement.textContent')).toBe('logo.png')
    await page.getByRole('img', { name: 'logo.png, after the change' }).waitFor()
  },
  120_000,
)

test.skipIf(!browserPath)(
  'a comment that could not be stored stays in its form with the error, and is stored or sent later',
  async () => {
    const { page } = story
    await showLong()
    const fail = () =>
      page.route('**/review-state', (route) =>
        route.request().method() === 'PATCH' ? route.abort('connectionrefused') : route.continue(),
      )
    await fail()
    const form = page.locator('form').filter({ has: page.getByLabel(/^Comment on line 60/) })
    await page.keyboard.press('c')
    await form.getByRole('textbox').fill('Ten minutes of thinking')
    await page.keyboard.press('Control+Enter')
    await form.getByRole('alert').getByText("Can't reach the service.").waitFor(slow)
    expect(await form.getByRole('textbox').inputValue()).toBe('Ten minutes of thinking')
    expect(await page.getByRole('alert').count()).toBe(1)
    await page.getByText('Your review: 0 comments').waitFor()
    await picture('comment-not-stored')
    await axe()

    // A second comment does not close the first one.
    for (const key of ['ArrowDown', 'ArrowDown'])
      await tree()
        .getByRole('button', { name: /long\.ts/ })
        .press(key)
    await page.keyboard.press('c')
    const second = page.getByLabel(/^Comment on line 6[12] /)
    await second.fill('Another one')
    expect(await form.getByRole('textbox').inputValue()).toBe('Ten minutes of thinking')
    await page.unrouteAll({ behavior: 'wait' })
    await page.keyboard.press('Control+Enter')
    await second.waitFor({ state: 'detached' })
    await form.getByRole('button', { name: 'Add to review' }).click()
    await page.getByText('Your review: 2 comments').waitFor(slow)
    await page.reload()
    await page.getByText('Your review: 2 comments').waitFor(slow)

    // The same for a changed comment.
    await fail()
    const first = page
      .locator('div')
      .filter({ hasText: /^Pending comment on line 60/ })
      .last()
    await first.getByRole('button', { name: 'Edit' }).click()
    await form.getByRole('textbox').fill('Ten more minutes of thinking')
    await page.keyboard.press('Control+Enter')
    await form.getByRole('alert').getByText("Can't reach the service.").waitFor(slow)
    expect(await form.getByRole('textbox').inputValue()).toBe('Ten more minutes of thinking')
    await form.getByRole('textbox').press('Escape')
    await page.getByRole('alertdialog').getByRole('button', { name: 'Discard' }).click()
    await first.getByText('Ten minutes of thinking').waitFor()

    // And for the review as a whole.
    await page.route('**/reviews', (route) =>
      route.request().method() === 'POST' ? route.abort('connectionrefused') : route.continue(),
    )
    await page.getByLabel('Summary').fill('Nearly.')
    await page.getByRole('button', { name: 'Save review' }).click()
    await page.getByRole('alert').getByText("Can't reach the service.").waitFor(slow)
    expect(await page.getByLabel('Summary').inputValue()).toBe('Nearly.')
    await page.getByText('Your review: 2 comments').waitFor()
    await page.unrouteAll({ behavior: 'wait' })

    // A review sends the comment whose store failed while the review waited, and its form goes.
    const held = Promise.withResolvers<void>()
    await page.route('**/review-state', async (route) => {
      if (route.request().method() !== 'PATCH') return route.continue()
      await held.promise
      await route.abort('connectionrefused')
    })
    await first.getByRole('button', { name: 'Edit' }).click()
    await form.getByRole('textbox').fill('Sent with the review')
    await page.keyboard.press('Control+Enter')
    await first.getByText('Sent with the review').waitFor()
    await page.getByRole('button', { name: 'Save review' }).click()
    held.resolve()
    await page.getByText('Your review: 0 comments').waitFor(slow)
    await page
      .getByRole('article', { name: /^Comment by/ })
      .getByText('Sent with the review')
      .first()
      .waitFor(slow)
    await form.waitFor({ state: 'detached' })
    expect(await page.getByLabel('Summary').inputValue()).toBe('')
    await page.unrouteAll({ behavior: 'wait' })
    expect(story.complaints).toEqual([])
  },
  120_000,
)

test.skipIf(!browserPath)(
  'the diff shows what came since the last visit, after a merge of the base and after a rebase',
  async () => {
    const { page } = story
    await files()
    await page.getByText('0 of 6 files viewed').waitFor(slow)
    await tree()
      .getByRole('button', { name: /long\.ts/ })
      .click()
    await page.keyboard.press('v')
    await page.getByText('1 of 6 files viewed').waitFor()
    const toggle = page.getByRole('button', { name: 'Since your last visit' })
    expect(await toggle.count()).toBe(0)

    // The base moves, the branch takes it in and goes on.
    await git(clone, 'checkout', '--quiet', 'main')
    await commit({ 'of-main.txt': 'main\n' }, 'Main goes on')
    await git(clone, 'push', '--quiet', gatewayOf(story.server, project), 'HEAD:refs/heads/next')
    await story.server.json(['cr', 'open', '--title', 'Next', '--head', 'next', '--project', project.project_id])
    await story.server.json(['cr', 'merge', '2', '--project', project.project_id])
    await git(clone, 'checkout', '--quiet', 'work')
    await git(clone, 'merge', '--quiet', '-m', 'Take main in', 'main')
    await commit({ 'src/indent.ts': 'export function greet() {\n  return 2\n}\ngreet()\n' }, 'Greet twice')
    await git(clone, 'push', '--quiet', 'origin', 'work')
    await toggle.waitFor(slow)
    await toggle.press('Enter')
    await page.getByText(/Changes since .*, which you viewed/).waitFor(slow)
    await page.getByText('Changes merged from main are left out.').waitFor()
    await page.getByText('0 of 1 file viewed').waitFor()
    expect(await tree().getByRole('button').allTextContents()).toEqual([expect.stringContaining('indent.ts')])
    await picture('since')
    await axe()
    await toggle.press('Enter')
    // A mark stays with what the file became: nothing but the one that changed again is to be seen.
    await page.getByText('1 of 6 files viewed').waitFor(slow)

    await git(clone, 'rebase', '--quiet', 'main')
    await commit({ 'src/long.ts': lines({ 60: 'const changed = 61', 140: 'const changed = 140' }) }, 'Once more')
    await git(clone, 'push', '--quiet', '--force', 'origin', 'work')
    await page.getByText('0 of 6 files viewed').waitFor(slow)
    await toggle.press('Enter')
    await page.getByText('The branch was rewritten and no longer contains that commit.').waitFor(slow)
    expect(await tree().getByRole('button').allTextContents()).toEqual([expect.stringContaining('long.ts')])
    await page.getByRole('link', { name: 'See all changes' }).click()
    await page.getByText('0 of 6 files viewed').waitFor(slow)

    await files(`&since=${'a'.repeat(40)}`)
    await page.getByText('That commit is not part of the head branch.').waitFor(slow)
    await picture('since-gone')
    await page.getByRole('link', { name: 'See all changes' }).click()
    await page.getByText('0 of 6 files viewed').waitFor(slow)

    // Any two pushes: the first one alone.
    await page.getByRole('button', { name: 'main → v3' }).click()
    await page.getByRole('menuitemradio', { name: /^v1,/ }).last().click()
    await page.getByRole('button', { name: 'main → v1' }).waitFor(slow)
    // The mark belongs to what the file was then.
    await page.getByText('1 of 6 files viewed').waitFor(slow)
    const mark = tree()
      .getByRole('button', { name: /long\.ts/ })
      .getByLabel('viewed', { exact: true })
    await mark.waitFor(slow)
    expect(await tree().getByLabel('viewed', { exact: true }).count()).toBe(1)
    expect(await tree().locator('.line-through').count()).toBe(0)
    const older = page.getByRole('status').filter({ hasText: 'You are looking at version 1 of 3' })
    await older.waitFor(slow)
    await picture('versions')
    await axe()
    await older.getByRole('button', { name: 'Show version 3' }).press('Enter')
    await page.getByRole('button', { name: 'main → v3' }).waitFor(slow)
    expect(await older.count()).toBe(0)
    await page.goBack()
    expect(story.complaints).toEqual([])
  },
  120_000,
)

test.skipIf(!browserPath)(
  'a change of images alone has no empty diff, and lock files are folded until someone asks for them',
  async () => {
    const { page, server } = story
    await git(clone, 'checkout', '--quiet', '-B', 'image', 'main')
    await commit({ 'logo.png': png(true) }, 'Blue')
    await git(clone, 'push', '--quiet', 'origin', 'image')
    await git(clone, 'checkout', '--quiet', '-b', 'lock')
    await commit({ 'package-lock.json': '{"lockfileVersion": 3}\n', 'a.txt': 'a\n' }, 'Lock')
    await git(clone, 'push', '--quiet', 'origin', 'lock')
    const open = (head: string) =>
      server.json<{ number: number }>(['cr', 'open', '--title', head, '--head', head, '--project', project.project_id])
    const show = async (head: string) =>
      page.goto(`${server.url}/projects/${project.slug}/change-requests/${(await open(head)).number}?tab=files`)
    await show('image')
    await page.getByRole('img', { name: 'logo.png, after the change' }).waitFor(slow)
    const top = await page.getByRole('heading', { name: /^Images/ }).boundingBox()
    expect(top!.y).toBeLessThan(500)
    await picture('images-alone')
    await axe()
    await show('lock')
    await page.getByText('Lock file, folded').waitFor(slow)
    expect(await page.getByText('lockfileVersion').count()).toBe(0)
    await picture('folded')
    await axe()
    await page.getByRole('button', { name: 'Show the changes of package-lock.json' }).click()
    await page.getByText('lockfileVersion').first().waitFor(slow)
  },
  120_000,
)

test.skipIf(!browserPath)(
  'a page whose code is not loaded says so while the network is away, and loads when it is back',
  async () => {
    const { page, complaints } = story
    await files()
    await page.getByText('Many files').first().waitFor(slow)
    await page.evaluate('window.isSamePage = true')
    const link = (name: string) => page.getByRole('navigation', { name: 'Project' }).getByRole('link', { name })
    await page.context().setOffline(true)
    await link('Branches').click()
    const failure = page.getByRole('alert').filter({ hasText: 'Check your connection, then try again.' })
    await failure.getByText("Can't reach the service.").waitFor(slow)
    await link('Sessions').waitFor()
    await picture('offline')
    await page.context().setOffline(false)
    await failure.getByRole('button', { name: 'Try again' }).click()
    await page
      .getByRole('list', { name: 'Branches' })
      .or(page.getByRole('listitem').filter({ hasText: 'work' }))
      .first()
      .waitFor(slow)
    await failure.waitFor({ state: 'detached' })
    expect(await page.evaluate('window.isSamePage')).toBe(true)

    // The same for a tab. The tabs stay.
    await files()
    await page.getByText(/ of 6 files viewed/).waitFor(slow)
    await page.context().setOffline(true)
    await page.getByRole('tab', { name: 'Conversation' }).click()
    await failure.getByText("Can't reach the service.").waitFor(slow)
    await page.getByRole('tab', { name: 'Files' }).waitFor()
    await page.context().setOffline(false)
    await failure.getByRole('button', { name: 'Try again' }).click()
    await failure.waitFor({ ...slow, state: 'detached' })

    // The server answers without the code: it has a new version, so the page is loaded anew.
    await page.evaluate('window.isSamePage = true')
    let isGone = true
    page.on('request', (request) => request.isNavigationRequest() && (isGone = false))
    await page.route('**/assets/**', (route) => (isGone ? route.fulfill({ status: 404 }) : route.continue()))
    await link('Secrets').click()
    await page.getByRole('heading', { name: 'Secrets' }).first().waitFor(slow)
    expect(await page.evaluate('window.isSamePage ?? false')).toBe(false)
    await page.unrouteAll({ behavior: 'wait' })
    complaints.length = 0
  },
  120_000,
)
