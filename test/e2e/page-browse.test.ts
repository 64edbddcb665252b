/** The files of a repository in a browser: folders, a file with its lines, blame, history, a commit, and search. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdtemp } from 'node:fs/promises'
import { join } from 'node:path'
import { browserPath } from './browser.ts'
import { git } from './harness.ts'
import { axeViolations, beginPageStory, expectItFits, gatewayOf, type PageStory, takePictures } from './page-story.ts'

let story: PageStory
let project: { project_id: string; slug: string }
let first: string
let second: string
const hostile = '<img src=x onerror=window.__canary=1>\u202egnp.txt'
const lines = Array.from({ length: 120 }, (_, at) => `export const value${at + 1} = ${at + 1}`)

beforeAll(async () => {
  if (!browserPath) return
  story = await beginPageStory({ SVC_SANDBOX_DRIVER: 'none' })
  const { server } = story
  project = await server.json(['projects', 'create', '--name', 'browse'])
  const clone = await mkdtemp(join(server.dir, 'clone-'))
  const commit = async (files: Record<string, string | Uint8Array>, message: string) => {
    for (const [path, content] of Object.entries(files)) await Bun.write(join(clone, path), content)
    await git(clone, 'add', '--all', '.')
    await git(clone, 'commit', '--quiet', '-m', message)
    return (await git(clone, 'rev-parse', 'HEAD')).trim()
  }
  await git(clone, 'init', '--quiet', '--initial-branch=main')
  await git(clone, 'remote', 'add', 'origin', gatewayOf(server, project))
  first = await commit(
    {
      'README.md': '# Greeting\n\nIt **greets** people.\n\n- one\n- two\n',
      'src/values.ts': `${lines.join('\n')}\n`,
      'src/deep/inner.ts': 'export const inner = 1\n',
      'data.bin': new Uint8Array([0, 1, 2, 3]),
      'logo.svg':
        '<svg xmlns="http://www.w3.org/2000/svg" width="40" height="40"><circle cx="20" cy="20" r="18"/></svg>\n',
      [hostile]: 'safe\u202e\u200btext\n',
    },
    'Say hello to everyone',
  )
  second = await commit(
    { 'src/values.ts': `${lines.with(59, 'export const value60 = "sixty"').join('\n')}\n` },
    'Spell sixty as a word\n\nA reader asked for it.',
  )
  await git(clone, 'push', '--quiet', 'origin', 'main')
  await git(clone, 'checkout', '--quiet', '-b', 'topic/one')
  await git(clone, 'mv', 'src/values.ts', 'src/numbers.ts')
  await commit({ 'topic.txt': 'topic\n' }, 'Add a topic')
  await git(clone, 'push', '--quiet', 'origin', 'topic/one')
}, 180_000)
afterAll(() => story?.end(), 120_000)

const slow = { timeout: 60_000 }
const go = (path: string) => story.page.goto(`${story.server.url}/projects/${project.slug}/${path}`)
const link = (name: string) => story.page.getByRole('main').getByRole('link', { name, exact: true })

async function look(name: string): Promise<void> {
  const { page, complaints } = story
  expect(complaints).toEqual([])
  expect(await axeViolations(page)).toEqual([])
  await takePictures(page, `browse-${name}`)
  await expectItFits(page)
  // axe makes style elements of its own, which the page's policy refuses.
  complaints.length = 0
  await page.setViewportSize({ width: 1280, height: 800 })
}

test.skipIf(!browserPath)(
  'a folder leads to a file, its lines have links, and y makes the address a permalink',
  async () => {
    const { page } = story
    await go('files')
    await page.getByText('It greets people.').waitFor(slow)
    const names = await page.getByRole('list', { name: 'Files' }).getByRole('listitem').allTextContents()
    expect(names[0]).toContain('src')
    expect(names.some((name) => name.includes('<U+202E>gnp.txt'))).toBe(true)
    await look('folder')
    await link('src').click()
    await link('values.ts').click()
    await page.getByText('value60').first().waitFor(slow)
    expect(new URL(page.url()).searchParams.get('path')).toBe('src/values.ts')
    await page.keyboard.press('y')
    await page.waitForURL(`**/files?ref=${second}&path=*`)
    await go(`files?ref=${first}&path=src/values.ts#L60-L62`)
    await page.getByText('value60').first().waitFor(slow)
    await page.locator('[data-line="60"][data-selected-line]').first().waitFor(slow)
    await page.waitForFunction('scrollY > 200')
    await look('file')
  },
  180_000,
)

test.skipIf(!browserPath)(
  'blame names the commits beside the lines and leads to a commit with its changes',
  async () => {
    const { page } = story
    await go('files?path=src/values.ts')
    await page.getByRole('link', { name: 'Blame', exact: true }).click(slow)
    const ranges = page.getByRole('list', { name: 'Blame' }).getByRole('link')
    await ranges.nth(2).waitFor(slow)
    expect(await ranges.allTextContents()).toEqual([
      expect.stringContaining('Say hello'),
      expect.stringContaining('Spell sixty'),
      expect.stringContaining('Say hello'),
    ])
    await look('blame')
    // On a phone each commit stands above its lines, which keep the width.
    await page.setViewportSize({ width: 390, height: 844 })
    const note = page.getByRole('link', { name: /^Line 60: Spell sixty/ })
    await note.waitFor(slow)
    expect(await ranges.count()).toBe(0)
    const [above, line] = [await note.boundingBox(), await page.locator('[data-line="60"]').boundingBox()]
    expect(line!.y - above!.y).toBeGreaterThan(20)
    expect(line!.y - above!.y).toBeLessThan(40)
    expect(await page.locator('[data-code]').evaluate((code) => code.clientWidth)).toBeGreaterThan(340)
    await page.setViewportSize({ width: 1280, height: 800 })
    await ranges.nth(1).click()
    await page.waitForURL(`**/commits/${second}`)
    await page.getByText('A reader asked for it.').waitFor(slow)
    // In the color of its syntax, like the diff of a change request.
    await page.locator('[data-line] span[style*="--diffs-token-light"]', { hasText: '"sixty"' }).first().waitFor(slow)
    await page.getByRole('link', { name: 'View file' }).first().waitFor(slow)
    await look('commit')
  },
  180_000,
)

test.skipIf(!browserPath)(
  'the history of a file lists its commits, and the branch can be changed',
  async () => {
    const { page } = story
    await go('files?path=src/values.ts')
    await link('History').click(slow)
    const commits = page.getByRole('list', { name: 'Commits' }).getByRole('listitem')
    await commits.nth(1).waitFor(slow)
    expect(await commits.count()).toBe(2)
    const current = page.getByRole('navigation', { name: 'Project' }).locator('[aria-current=page]')
    expect(await current.allTextContents()).toEqual(['Files'])
    // A renamed file goes on under its earlier name.
    await go('commits?ref=topic%2Fone&path=src%2Fnumbers.ts')
    await commits.nth(2).waitFor(slow)
    expect(await commits.allTextContents()).toEqual([
      expect.stringMatching(/^Add a topic(?!.*Earlier name)/),
      expect.stringMatching(/^Spell sixty as a wordEarlier name: src\/values\.ts/),
      expect.stringMatching(/^Say hello to everyone(?!.*Earlier name)/),
    ])
    await look('history')
    await link(`Files at ${first.slice(0, 10)}`).click()
    await page.getByText('value60').first().waitFor(slow)
    expect(new URL(page.url()).searchParams.get('path')).toBe('src/values.ts')
    await go('files')
    await page.getByRole('button', { name: /Branch or commit/ }).click(slow)
    await page.getByRole('menuitemradio', { name: 'topic/one' }).click()
    await link('topic.txt').waitFor(slow)
    expect(new URL(page.url()).searchParams.get('ref')).toBe('topic/one')
  },
  180_000,
)

test.skipIf(!browserPath)(
  't finds a file by its path with the keyboard alone, and the text of all files',
  async () => {
    const { page } = story
    await go('files')
    await link('src').waitFor(slow)
    await page.keyboard.press('t')
    await page.getByRole('combobox', { name: 'Part of the path' }).fill('inner')
    await page.getByRole('option', { name: 'src/deep/inner.ts' }).waitFor(slow)
    expect(await axeViolations(page)).toEqual([])
    story.complaints.length = 0
    await page.keyboard.press('Enter')
    await page.waitForURL('**/files?*path=src%2Fdeep%2Finner.ts*')
    await page.getByText('inner').first().waitFor(slow)
    await page.getByRole('button', { name: 'Find file' }).click()
    await page.getByRole('combobox', { name: 'Part of the path' }).fill('SIXTY')
    await page.getByRole('option', { name: /Search all files/ }).click()
    await page.getByText('export const value60 = "sixty"').waitFor(slow)
    await look('search')
    await link('60 export const value60 = "sixty"').click()
    await page.waitForURL('**#L60')
  },
  180_000,
)

test.skipIf(!browserPath)(
  'images show, a binary file says what it is, and hostile names and text stay text',
  async () => {
    const { page } = story
    await go('files?path=logo.svg')
    await page.getByRole('img', { name: 'logo.svg' }).waitFor(slow)
    await go('files?path=data.bin')
    await page.getByText('Binary file. Download it').waitFor(slow)
    const download = page.waitForEvent('download')
    await page.getByRole('button', { name: 'Download' }).click()
    expect((await download).suggestedFilename()).toBe('data.bin')
    await go(`files?path=${encodeURIComponent(hostile)}`)
    await page.getByText('safe<U+202E><U+200B>text').first().waitFor(slow)
    expect(await page.evaluate('window.__canary')).toBeUndefined()
    await go('files?path=nope.txt')
    await page.getByText(/no such file/i).waitFor(slow)
    await look('missing')
  },
  180_000,
)
