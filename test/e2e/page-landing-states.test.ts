/** What the lists and the page of a change request say about it, in a browser. */
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
const limit = 180_000
const notes = Array.from({ length: 20 }, (_, n) => `Note ${n}\n`).join('')

beforeAll(async () => {
  if (!browserPath) return
  story = await beginPageStory({ SVC_SANDBOX_DRIVER: 'none' }, { viewport: { width: 1440, height: 900 } })
  const { server } = story
  project = await server.json(['projects', 'create', '--name', 'payments'])
  clone = await mkdtemp(join(server.dir, 'clone-'))
  await git(clone, 'init', '--quiet', '--initial-branch=main')
  await git(clone, 'remote', 'add', 'origin', gatewayOf(server, project))
  await commit({ 'README.md': 'Payments\n', 'notes.txt': notes })
  await git(clone, 'push', '--quiet', 'origin', 'main')
}, limit)
afterAll(() => story?.end(), 120_000)

async function commit(files: Record<string, string>): Promise<void> {
  for (const [path, content] of Object.entries(files)) await Bun.write(join(clone, path), content)
  await git(clone, 'add', '--all', '.')
  await git(clone, 'commit', '--quiet', '-m', 'Work')
}

/** Pushes the branch with these files and opens a change request for it. Returns its number. */
async function open(head: string, files: Record<string, string>, ...more: string[]): Promise<number> {
  await git(clone, 'checkout', '--quiet', '-B', head, 'origin/main')
  await commit(files)
  await git(clone, 'push', '--quiet', 'origin', head)
  const of = ['--title', `Work of ${head}`, '--head', head, '--project', project.project_id]
  return (await story.server.json<{ number: number }>(['cr', 'open', ...of, ...more])).number
}

const address = (...rest: (string | number)[]) =>
  [`${story.server.url}/projects/${project.slug}/change-requests`, ...rest].join('/')

test.skipIf(!browserPath)(
  'a change request whose branch was deleted says so in lists and on its page, until the branch is back',
  async () => {
    const { page, server, complaints } = story
    const number = await open('retry', { 'retry.txt': 'x\n' })
    await page.goto(address(number))
    await page.getByRole('heading', { name: 'Ready to land' }).waitFor(slow)
    await git(clone, 'push', '--quiet', 'origin', '--delete', 'retry')
    // An event wakes the open page, which asks by itself only every 30 seconds.
    await page.getByText('branch deleted').first().waitFor({ timeout: 10_000 })
    await page.getByText("Can't merge: its branch was deleted.").waitFor(slow)
    await page.getByRole('list', { name: 'Checklist' }).getByText('Its branch was deleted').waitFor(slow)
    expect(await page.getByRole('button', { name: 'Merge into main' }).getAttribute('aria-disabled')).toBe('true')
    await expectItLooksRight(story, 'branch-deleted')
    for (const list of [address(), `${server.url}/`]) {
      await page.goto(list)
      await page.getByText('Work of retry').first().waitFor(slow)
      await page.getByText('branch deleted').first().waitFor(slow)
      await page.getByText('Its branch was deleted').first().waitFor(slow)
    }
    await expectItLooksRight(story, 'branch-deleted-inbox')
    await git(clone, 'push', '--quiet', 'origin', 'retry')
    await page.getByText('branch deleted').waitFor({ ...slow, state: 'detached' })
    await page.goto(address(number))
    await page.getByRole('heading', { name: 'Ready to land' }).waitFor(slow)
    await page.getByRole('button', { name: 'Merge into main' }).click()
    await page.getByText('merged this into').waitFor(slow)
    expect(complaints).toEqual([])
  },
  limit,
)

test.skipIf(!browserPath)(
  'an invalid svc.toml that the project refuses says so in lists and on the page, whatever its base is',
  async () => {
    const { page, server, complaints } = story
    const of = ['--project', project.project_id]
    await server.json(['settings', 'set', 'manifest_gate=on', ...of])
    await git(clone, 'push', '--quiet', 'origin', 'origin/main:refs/heads/release-1')
    const number = await open('broken', { 'svc.toml': 'svc_version = [\n' })
    const { number: aside } = await server.json<{ number: number }>([
      ...['cr', 'open', '--title', 'Aside', '--head', 'broken', '--base', 'release-1', ...of],
    ])
    for (const each of [aside, number]) {
      await page.goto(address(each))
      await page.getByText("Can't merge: svc.toml is invalid, and the project requires a valid one.").waitFor(slow)
      await page.locator('header p').getByText('svc.toml invalid', { exact: true }).waitFor(slow)
      await page.getByText(/^svc\.toml, line \d+:/).waitFor(slow)
    }
    for (const list of [address(), `${server.url}/`]) {
      await page.goto(list)
      await page.getByText('svc.toml invalid', { exact: true }).nth(1).waitFor(slow)
      await page
        .getByText(/svc\.toml is invalid, and the project requires a valid one/)
        .first()
        .waitFor(slow)
    }
    await expectItLooksRight(story, 'manifest-invalid-inbox')
    await server.json(['settings', 'set', 'manifest_gate=off', ...of])
    for (const each of [aside, number]) await server.json(['cr', 'close', String(each), ...of])
    expect(complaints).toEqual([])
  },
  limit,
)

test.skipIf(!browserPath)(
  'a renamed file counts as one in the list, the header and the diff',
  async () => {
    const { page, complaints } = story
    await git(clone, 'checkout', '--quiet', '-B', 'rename', 'origin/main')
    await git(clone, 'mv', 'notes.txt', 'more-notes.txt')
    await commit({ 'more-notes.txt': `${notes}One more\n` })
    await git(clone, 'push', '--quiet', 'origin', 'rename')
    const of = ['--title', 'Rename the notes', '--head', 'rename', '--project', project.project_id]
    const { number } = await story.server.json<{ number: number }>(['cr', 'open', ...of])
    await page.setViewportSize({ width: 1440, height: 900 })
    await page.goto(address())
    await page.getByText(/^Touches more-notes\.txt( · |$)/).waitFor(slow)
    await page
      .getByText(/^\+1\s*−0$/)
      .first()
      .waitFor(slow)
    await page.goto(address(number))
    await page.getByText('0 of 1 file viewed').waitFor(slow)
    await page.getByRole('tab', { name: 'Files 1' }).waitFor(slow)
    await page
      .locator('header')
      .getByText(/^\+1\s*−0$/)
      .first()
      .waitFor(slow)
    expect(complaints).toEqual([])
  },
  limit,
)

test.skipIf(!browserPath)(
  'the commits of a merged change request do not say that the base is ahead',
  async () => {
    const { page, complaints } = story
    const number = await open('merged', { 'merged.txt': 'x\n' })
    const other = await open('elsewhere', { 'elsewhere.txt': 'x\n' })
    await story.server.json(['cr', 'merge', String(other), '--yes', '--project', project.project_id])
    await page.goto(`${address(number)}?tab=commits`)
    await page.getByText(/^main is \d+ commits? ahead$/).waitFor(slow)
    await page.getByRole('button', { name: 'Merge into main' }).click()
    await page.getByText('merged this into').waitFor(slow)
    await page.getByRole('list', { name: 'Commits' }).waitFor(slow)
    expect(await page.getByText(/commits? ahead/).count()).toBe(0)
    expect(complaints).toEqual([])
  },
  limit,
)

test.skipIf(!browserPath)(
  'the branches do not call one merged whose merge had nothing to merge',
  async () => {
    const { page, server, complaints } = story
    const done = await open('done', { 'done.txt': 'x\n' })
    await git(clone, 'fetch', '--quiet')
    await git(clone, 'push', '--quiet', 'origin', 'origin/main:refs/heads/same')
    const of = ['--project', project.project_id]
    const same = ['--title', 'The same', '--head', 'same', ...of]
    const { number } = await server.json<{ number: number }>(['cr', 'open', ...same])
    for (const each of [number, done]) await server.json(['cr', 'merge', String(each), '--yes', ...of])
    await page.goto(`${server.url}/projects/${project.slug}/branches`)
    const row = (link: string) =>
      page.getByRole('list', { name: 'Branches' }).getByRole('listitem').filter({ hasText: link })
    await row(`in #${done}`).getByText('merged', { exact: true }).waitFor(slow)
    await row(`in #${number}`).getByText('nothing to merge', { exact: true }).waitFor(slow)
    expect(await row(`in #${number}`).getByText('merged', { exact: true }).count()).toBe(0)
    await expectItLooksRight(story, 'branches-merged')
    expect(complaints).toEqual([])
  },
  limit,
)

test.skipIf(!browserPath)(
  'a change request into the branch of another says so, and that a base was merged without it',
  async () => {
    const { page, server, complaints } = story
    const below = await open('stack-1', { 'one.txt': '1\n' })
    await git(clone, 'checkout', '--quiet', '-B', 'stack-2')
    await commit({ 'two.txt': '2\n' })
    await git(clone, 'push', '--quiet', 'origin', 'stack-2')
    const of = ['--project', project.project_id]
    const above = ['--title', 'Above', '--head', 'stack-2', '--base', 'stack-1', ...of]
    const { number } = await server.json<{ number: number }>(['cr', 'open', ...above])
    await page.goto(address(number))
    await page.getByText(`Stacked on #${below}`).waitFor(slow)
    await page.getByRole('heading', { name: 'Ready to land' }).waitFor(slow)
    await server.json(['cr', 'merge', String(below), '--yes', ...of])
    await page.reload()
    await page.getByRole('heading', { name: 'Its base is already merged' }).waitFor(slow)
    await page.locator('header p').getByText('base merged', { exact: true }).waitFor(slow)
    await page.setViewportSize({ width: 360, height: 800 })
    const quoted = page.getByRole('complementary', { name: 'Landing' }).getByRole('listitem').filter({ visible: true })
    await quoted.getByText('Needs attention: Merges cleanly, but its base is already merged').waitFor(slow)
    expect(await quoted.count()).toBe(1)
    await expectItLooksRight(story, 'base-merged')
    for (const list of [address(), `${server.url}/`]) {
      await page.goto(list)
      await page.getByText('base merged', { exact: true }).waitFor(slow)
      await page.getByText('stack-1 was merged without it · touches two.txt').waitFor(slow)
    }
    await page.goto(address(number))
    await page.getByRole('link', { name: 'Propose stack-2 for main' }).click()
    await page.getByLabel('Title').fill('Above, again')
    const chosen = page.getByRole('main').getByRole('combobox')
    expect([await chosen.nth(0).inputValue(), await chosen.nth(1).inputValue()]).toEqual(['stack-2', 'main'])
    await server.json(['cr', 'merge', String(number), '--yes', ...of])
    await page.goto(address(number))
    await page.getByText('merged this into').waitFor(slow)
    await page.getByText(`stack-1 was merged in #${below}`).waitFor(slow)
    expect(complaints).toEqual([])
  },
  limit,
)

test.skipIf(!browserPath)(
  'two change requests of one branch differ by their base in the list and in the inbox',
  async () => {
    const { page, server, complaints } = story
    await git(clone, 'push', '--quiet', 'origin', 'origin/main:refs/heads/release-2')
    await open('both', { 'both.txt': 'x\n' })
    const of = ['--title', 'Work of both', '--head', 'both', '--base', 'release-2', '--project', project.project_id]
    await server.json(['cr', 'open', ...of])
    for (const list of [address(), `${server.url}/`]) {
      await page.goto(list)
      await page.getByText(/^Into release-2 · touches both\.txt/i).waitFor(slow)
      await page.getByText(/^Touches both\.txt/).waitFor(slow)
    }
    // The service allows the same two branches again, and the page says which ones there are.
    await page.goto(`${address('new')}?head=both`)
    await page.getByText('These branches already have an open change request').waitFor(slow)
    await page.getByRole('main').getByRole('link', { name: 'Work of both' }).waitFor()
    await expectItLooksRight(story, 'new-same-branches')
    const again = ['--title', 'Work of both', '--head', 'both', '--project', project.project_id]
    const { number } = await server.json<{ number: number }>(['cr', 'open', ...again])
    for (const list of [address(), `${server.url}/`]) {
      await page.goto(list)
      await page.getByText(`Same branches as #${number - 2} · `).waitFor(slow)
      await page.getByText(`Same branches as #${number} · `).waitFor(slow)
    }
    await expectItLooksRight(story, 'same-branches')
    await server.json(['cr', 'close', String(number), '--project', project.project_id])
    await page.goto(address())
    await page.getByText(/^Touches both\.txt/).waitFor(slow)
    await page.keyboard.press('Control+k')
    await page.getByRole('combobox', { name: 'Search or jump to' }).fill('work of both')
    const found = page.getByRole('group', { name: 'Change requests' }).getByRole('option')
    await found.nth(2).waitFor(slow)
    expect(await found.allTextContents()).toEqual([
      `#${number - 1} Work of bothopeninto release-2 · payments`,
      `#${number - 2} Work of bothopenpayments`,
      `#${number} Work of bothclosed · payments`,
    ])
    expect(complaints).toEqual([])
  },
  limit,
)

test.skipIf(!browserPath)(
  'the branch of a session has a short name, and the whole one as its title and its copy',
  async () => {
    const { page, complaints } = story
    const branch = crypto.randomUUID()
    const number = await open(branch, { 'id.txt': 'x\n' })
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
    await page.goto(address(number))
    const header = page.locator('header').filter({ hasText: `Work of ${branch}` })
    const name = header.getByText(branch.slice(0, 8), { exact: true })
    await name.waitFor(slow)
    expect(await name.getAttribute('title')).toBe(branch)
    await header.getByRole('button', { name: 'Copy the branch name' }).click()
    await header.getByText('Copied').waitFor({ ...slow, state: 'attached' })
    expect(await page.evaluate('navigator.clipboard.readText()')).toBe(branch)
    await expectItLooksRight(story, 'branch-name')
    expect(complaints).toEqual([])
  },
  limit,
)
