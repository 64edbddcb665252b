/** Reading a change in a browser: images compared, binaries with their sizes, moved code, and the guided order. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdtemp } from 'node:fs/promises'
import { join } from 'node:path'
import { crc32, deflateSync } from 'node:zlib'
import { browserPath } from './browser.ts'
import { git, until } from './harness.ts'
import { beginPageStory, expectItLooksRight, gatewayOf, type PageStory } from './page-story.ts'

let story: PageStory
let clone: string
let project: { project_id: string; slug: string }
const slow = { timeout: 60_000 }

/** An image of one color. */
function png(width: number, height: number, color: [number, number, number]): Buffer {
  const piece = (type: string, data: Buffer) => {
    const body = Buffer.concat([Buffer.from(type), data])
    const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)]
    length.writeUInt32BE(data.length)
    sum.writeUInt32BE(crc32(body))
    return Buffer.concat([length, body, sum])
  }
  const head = Buffer.alloc(13)
  head.writeUInt32BE(width, 0)
  head.writeUInt32BE(height, 4)
  head.set([8, 2, 0, 0, 0], 8)
  const row = Buffer.concat([Buffer.of(0), ...Array.from({ length: width }, () => Buffer.from(color))])
  const rows = Buffer.concat(Array.from({ length: height }, () => row))
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])
  return Buffer.concat([
    ...[signature, piece('IHDR', head), piece('IDAT', deflateSync(rows)), piece('IEND', Buffer.alloc(0))],
  ])
}

const moved = [
  'export function retryAfter(response: Response): number {',
  "  const header = response.headers.get('retry-after')",
  '  return header === null ? 0 : Number(header)',
  '}',
]
const wide = `export const wide = '${'a long line '.repeat(40)}'\n`

async function commit(files: Record<string, string | Uint8Array>): Promise<void> {
  for (const [path, content] of Object.entries(files)) await Bun.write(join(clone, path), content)
  await git(clone, 'add', '--all', '.')
  await git(clone, 'commit', '--quiet', '-m', 'Work')
}

beforeAll(async () => {
  if (!browserPath) return
  story = await beginPageStory({ SVC_SANDBOX_DRIVER: 'none' }, { viewport: { width: 1440, height: 900 } })
  const { server } = story
  project = await server.json(['projects', 'create', '--name', 'reading'])
  clone = await mkdtemp(join(server.dir, 'clone-'))
  await git(clone, 'init', '--quiet', '--initial-branch=main')
  await git(clone, 'remote', 'add', 'origin', gatewayOf(server, project))
  await commit({
    'logo.png': png(320, 180, [180, 40, 40]),
    'fonts/text.woff2': new Uint8Array(2048),
    'src/http.ts': ['// http', ...moved, 'export const port = 80', ''].join('\n'),
  })
  await git(clone, 'push', '--quiet', 'origin', 'main')
  await git(clone, 'checkout', '--quiet', '-b', 'work')
  await commit({
    'logo.png': png(320, 200, [40, 80, 180]),
    'fonts/text.woff2': new Uint8Array(3072),
    'package-lock.json': '{}\n',
    'src/a-page.ts': `import { retryAfter } from './wait/wait'\n${wide}`,
    'src/a-page.test.ts': "import './a-page'\n",
    'src/http.ts': ['// http', 'export const port = 80', ''].join('\n'),
    'src/wait/wait.ts': ['// How long to wait.', ...moved, ''].join('\n'),
  })
  await git(clone, 'push', '--quiet', 'origin', 'work')
  await server.json(['cr', 'open', '--title', 'Wait', '--head', 'work', '--project', project.project_id])
}, 180_000)
afterAll(() => story?.end(), 120_000)

const files = () => story.page.goto(`${story.server.url}/projects/${project.slug}/change-requests/1?tab=files`)
const tree = () => story.page.getByRole('navigation', { name: 'Changed files' })

test.skipIf(!browserPath)(
  'images are compared beside each other, with a swipe, and faded; binaries show type and sizes',
  async () => {
    const { page, complaints } = story
    await files()
    const plain = page.getByRole('list', { name: 'Images, binaries, and renames' })
    const logo = plain.getByRole('listitem').filter({ hasText: 'logo.png' })
    await logo.getByText(/^Before: 320 × 180 px, 1\.\d KiB$/).waitFor(slow)
    await logo.getByText(/^After: 320 × 200 px, 1\.\d KiB$/).waitFor(slow)
    expect(await logo.textContent()).toMatch(/modified\. PNG image, 1\.\d KiB → 1\.\d KiB \(\+\d+ %\)/)
    const font = plain.getByRole('listitem').filter({ hasText: 'text.woff2' })
    expect(await font.textContent()).toContain('WOFF2 font, 2 KiB → 3 KiB (+50 %)')
    await logo.scrollIntoViewIfNeeded()
    await expectItLooksRight(story, 'reading-images-side')

    await logo.getByRole('radio', { name: 'Swipe' }).check()
    const border = logo.getByRole('slider', { name: 'Border between before and after' })
    await border.focus()
    const left = () =>
      logo
        .getByRole('img', { name: /after the change/ })
        .evaluate((image) => getComputedStyle(image.parentElement!).clipPath)
    const middle = await left()
    for (let times = 0; times < 20; times++) await page.keyboard.press('ArrowRight')
    expect([middle, await left()]).toEqual(['inset(0px 0px 0px 50%)', 'inset(0px 0px 0px 70%)'])
    await expectItLooksRight(story, 'reading-images-swipe')
    await logo.getByRole('radio', { name: 'Onion skin' }).check()
    await logo.getByRole('slider', { name: /^Opacity/ }).fill('25')
    await expectItLooksRight(story, 'reading-images-onion')
    await page.reload()
    await logo.getByRole('slider', { name: /^Opacity/ }).waitFor(slow)
    await logo.getByRole('radio', { name: 'Side by side' }).check()
    expect(complaints).toEqual([])
  },
  180_000,
)

test.skipIf(!browserPath)(
  'moved code is marked in both places, and each leads to the other',
  async () => {
    const { page } = story
    await page.setViewportSize({ width: 1440, height: 900 })
    await files()
    const to = page.getByRole('button', { name: 'src/wait/wait.ts:2-5' })
    await to.waitFor(slow)
    expect(await page.getByText('4 lines moved to').count()).toBe(1)
    const marked = () =>
      page.evaluate<number>(
        "[...document.querySelectorAll('diffs-container')].map((host) => host.shadowRoot.querySelectorAll('[data-moved]').length).reduce((sum, count) => sum + count, 0)",
      )
    await until('both places are marked', async () => (await marked()) === 8)
    await to.scrollIntoViewIfNeeded()
    await expectItLooksRight(story, 'reading-moved')
    await page.setViewportSize({ width: 1440, height: 900 })
    await to.click()
    await tree()
      .getByRole('button', { name: /wait\.ts/, exact: false })
      .and(page.locator('[aria-current=true]'))
      .waitFor(slow)
    await page.getByRole('button', { name: 'src/http.ts:2-5' }).waitFor(slow)
    await page.getByText('4 lines moved from').waitFor(slow)
  },
  180_000,
)

test.skipIf(!browserPath)(
  'the files can be read in a guided order, which says what it is based on and is remembered',
  async () => {
    const { page } = story
    await page.setViewportSize({ width: 1440, height: 900 })
    await files()
    // A file of the root that follows a folder does not look as if it were inside.
    const rows = tree().getByRole('listitem')
    await rows.filter({ hasText: 'logo.png' }).getByText('Repository root').waitFor(slow)
    expect(await tree().getByText('Repository root').count()).toBe(1)
    const kept = page.waitForResponse((response) => response.request().method() === 'PATCH' && response.ok())
    await tree().getByLabel('Order').selectOption('Read this first')
    await kept
    await tree()
      .getByText(/From imports and size/)
      .waitFor(slow)
    const names = async () =>
      (await tree().getByRole('button').allTextContents()).map(
        (text) => /[\w.-]+\.(?:ts|json|png|woff2)/.exec(text)?.[0],
      )
    const order = ['wait.ts', 'a-page.ts', 'a-page.test.ts', 'http.ts', 'logo.png', 'text.woff2', 'package-lock.json']
    await until('the files are in their order', async () => (await names()).at(-1) === 'package-lock.json')
    expect((await names()).toSorted()).toEqual(order.toSorted())
    expect((await names()).indexOf('wait.ts')).toBeLessThan((await names()).indexOf('a-page.ts'))
    expect((await names()).indexOf('a-page.test.ts')).toBe((await names()).indexOf('a-page.ts') + 1)
    expect((await names()).at(-1)).toBe('package-lock.json')
    expect(
      await tree()
        .getByRole('button', { name: /wait\.ts/ })
        .getAttribute('title'),
    ).toBe('Used by 1 file')
    // `j` follows the order.
    await page.keyboard.press('Escape')
    await page.evaluate('document.activeElement.blur()')
    await page.keyboard.press('j')
    await tree()
      .locator('[aria-current=true]')
      .filter({ hasText: (await names())[0]! })
      .waitFor(slow)
    await expectItLooksRight(story, 'reading-order')
    // As in another browser: the server keeps the choice.
    await page.evaluate("localStorage.removeItem('svc-file-order')")
    await page.reload()
    await tree()
      .getByText(/From imports and size/)
      .waitFor(slow)
    await page.setViewportSize({ width: 1440, height: 900 })
    // Wide lines scroll with the keyboard.
    const code = page.locator('[data-code][tabindex="0"]').first()
    await code.waitFor(slow)
    await code.focus()
    await page.keyboard.press('ArrowRight')
    await until('the lines scroll', () => code.evaluate((each) => each.scrollLeft > 0))
    await tree().getByLabel('Order').selectOption('By folder')
  },
  180_000,
)
