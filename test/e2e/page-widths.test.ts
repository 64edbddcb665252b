/** Pages with long names and many controls, in a browser at the widths of laptops: nothing scrolls sideways or wraps. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdtemp } from 'node:fs/promises'
import { join } from 'node:path'
import { browserPath } from './browser.ts'
import { git, until } from './harness.ts'
import { beginPageStory, expectItFits, expectItLooksRight, gatewayOf, type PageStory, pictures } from './page-story.ts'

let story: PageStory
let clone: string
let project: { project_id: string; slug: string }
const slow = { timeout: 60_000 }
const limit = 180_000

beforeAll(async () => {
  if (!browserPath) return
  story = await beginPageStory({ SVC_SANDBOX_DRIVER: 'none' }, { viewport: { width: 1440, height: 900 } })
  project = await story.server.json(['projects', 'create', '--name', 'payments'])
  clone = await mkdtemp(join(story.server.dir, 'clone-'))
  await git(clone, 'init', '--quiet', '--initial-branch=main')
  await git(clone, 'remote', 'add', 'origin', gatewayOf(story.server, project))
  await push('main', { 'README.md': 'Payments\n', 'end.txt': forty(0), 'middle.txt': forty(0) })
}, limit)
afterAll(() => story?.end(), 60_000)

const forty = (changed: number) =>
  Array.from({ length: 40 }, (_, at) => `${at + 1 === changed ? 'new' : 'old'} ${at + 1}\n`).join('')

async function push(branch: string, files: Record<string, string>): Promise<void> {
  for (const [path, content] of Object.entries(files)) await Bun.write(join(clone, path), content)
  await git(clone, 'add', '--all', '.')
  await git(clone, 'commit', '--quiet', '-m', 'Work')
  await git(clone, 'push', '--quiet', 'origin', `HEAD:${branch}`)
}

test.skipIf(!browserPath)(
  'the audit log has no sideways scroll, however long its names are',
  async () => {
    const { page, server, complaints } = story
    const name = 'Retry deliveries that fail with a timeout, and wait twice as long each time'
    const secret = `PAYMENTS_${'GATEWAY_'.repeat(6)}TOKEN`
    await server.svc(['secrets', 'set', secret, '--value', 'abcdefgh', '--project', project.project_id])
    // Rows of an agent, which this server without sandboxes has none of.
    await page.route('**/audit?*', async (route) => {
      const reply = await route.fetch()
      const [row, ...rows] = (await reply.json()) as Record<string, unknown>[]
      const id = crypto.randomUUID()
      const of = { session_id: id, session_name: name, actor_kind: 'agent', object_type: 'session', object_id: id }
      const changed = { before: null, after: { name, base_ref: 'main', prompt_characters: 2_000 } }
      const agents = {
        ...row,
        ...of,
        ...changed,
        event_id: id,
        object_name: name,
        action: 'change_request.description',
      }
      const address = { address: '2001:0db8:85a3:0000:0000:8a2e:0370:7334' }
      await route.fulfill({ response: reply, json: [agents, { ...row, ...address }, ...rows] })
    })
    await page.goto(`${server.url}/account/audit`)
    const log = page.getByRole('region', { name: 'Audit log' })
    await log.getByText(`Agent in ${name}`).waitFor(slow)
    for (const width of [1024, 1280, 1440]) {
      await page.setViewportSize({ width, height: 900 })
      await expectItFits(page)
      expect([width, await log.evaluate((region) => region.scrollWidth - region.clientWidth)]).toEqual([width, 0])
    }
    await expectItLooksRight(story, 'audit-long')
    await page.unrouteAll({ behavior: 'wait' })
    expect(complaints).toEqual([])
  },
  limit,
)

test.skipIf(!browserPath)(
  'the tools above a diff with versions are in one line',
  async () => {
    const { page, server, complaints } = story
    await git(clone, 'checkout', '--quiet', '-b', 'retry')
    await push('retry', { 'retry.ts': 'export const wait = 500\n' })
    await server.json(['cr', 'open', '--title', 'Retry', '--head', 'retry', '--project', project.project_id])
    const address = `${server.url}/projects/${project.slug}/change-requests/1`
    await page.setViewportSize({ width: 1280, height: 900 })
    await page.goto(address)
    await page.getByText('0 of 1 file viewed').waitFor(slow)
    for (const wait of [250, 100]) await push('retry', { 'retry.ts': `export const wait = ${wait}\n` })
    await page.goto(address)
    const tools = page.getByRole('toolbar', { name: 'Diff options' })
    await tools.getByRole('button', { name: 'Since your last visit' }).waitFor(slow)
    await tools.getByRole('button', { name: /^main → v[23]/ }).waitFor(slow)
    for (const width of [1280, 1440, 1600]) {
      await page.setViewportSize({ width, height: 900 })
      // As high as one button.
      expect(await tools.evaluate((bar) => bar.clientHeight)).toBeLessThan(48)
      await expectItFits(page)
    }
    await tools.getByRole('button', { name: 'Ignore whitespace' }).click()
    await tools.getByRole('button', { name: 'Ignore whitespace', pressed: true }).waitFor(slow)
    await tools.getByRole('button', { name: 'Ignore whitespace' }).click()
    await expectItLooksRight(story, 'diff-tools')
    expect(complaints).toEqual([])
  },
  limit,
)

/** The buttons and fields of the page, also in the viewer, that a finger misses or that are not on the screen. */
const unreachable = () =>
  story.page.locator('main :is(button, select, input, textarea, summary)').evaluateAll((all) =>
    all.flatMap((each) => {
      const { left, right, width, height } = each.getBoundingClientRect()
      // Links in a line of text have the height of the text; what is not drawn has none.
      const isInline = getComputedStyle(each).display === 'inline'
      if (width === 0 || isInline || !each.checkVisibility({ visibilityProperty: true })) return []
      if (width >= 24 && height >= 24 && left >= 0 && right <= innerWidth) return []
      const name = each.getAttribute('aria-label') ?? each.textContent?.trim()
      return [`${name}: ${width}x${height} at ${left}`]
    }),
  )

test.skipIf(!browserPath)(
  'a change request has room for its code at 1024 and 360 pixels',
  async () => {
    const { page, server, complaints } = story
    const line = (at: number) =>
      `export const waitBeforeRetry${at} = (attempt: number) => Math.min(${at} * 2 ** attempt, 60_000)`
    const text = Array.from({ length: 60 }, (_, at) => line(at)).join('\n')
    await git(clone, 'checkout', '--quiet', '-b', 'wide', 'origin/main')
    await push(
      'wide',
      Object.fromEntries(
        ['src/deliveries/retry.ts', 'src/deliveries/queue.ts', 'src/index.ts', 'test/retry.test.ts', 'notes.md'].map(
          (path) => [path, `${text}\n`],
        ),
      ),
    )
    const { number } = await server.json<{ number: number }>([
      ...['cr', 'open', '--title', 'Retry deliveries that time out', '--head', 'wide'],
      ...['--project', project.project_id],
    ])
    const address = `${server.url}/projects/${project.slug}/change-requests/${number}`
    for (const width of [1024, 360]) {
      await page.setViewportSize({ width, height: 800 })
      await page.emulateMedia({ colorScheme: 'light' })
      await page.goto(address)
      await page.getByText('0 of 5 files viewed').waitFor(slow)
      await page.getByText('waitBeforeRetry1').first().waitFor(slow)
      await page.screenshot({ path: join(pictures, `diff-room-opened-${width}.png`) })
      expect([width, await unreachable()]).toEqual([width, []])
      // 80 columns of 8 pixels beside the numbers of the lines.
      const code = page.locator('[data-code]').first()
      expect(await code.evaluate((element) => element.clientWidth)).toBeGreaterThan(width === 1024 ? 700 : 300)
      expect((await code.boundingBox())!.y).toBeLessThan(440)
      const panel = page.getByRole('complementary', { name: 'Landing' })
      await panel.getByText('Ready to land').first().waitFor(slow)
      await panel.getByRole('button', { name: 'Show details' }).click()
      await panel.getByRole('button', { name: 'Merge into main' }).waitFor(slow)
      expect([width, await unreachable()]).toEqual([width, []])
      await page.screenshot({ path: join(pictures, `diff-room-panel-${width}.png`) })
      await panel.getByRole('button', { name: 'Hide details' }).click()
      await page.getByRole('button', { name: 'File tree' }).click()
      await page.getByRole('navigation', { name: 'Changed files' }).getByRole('button', { name: /queue/ }).click()
      await page.keyboard.press('c')
      await page.getByLabel(/^Comment on line 1/).fill('Why one minute?')
      await page.screenshot({ path: join(pictures, `diff-room-form-${width}.png`) })
      expect([width, await unreachable()]).toEqual([width, []])
      await page.getByRole('button', { name: 'Add to review' }).click()
      await page.getByText('Your review: 1 comment').waitFor(slow)
      await page.screenshot({ path: join(pictures, `diff-room-tree-${width}.png`) })
      // The way to the review is visible on every tab.
      await page.getByRole('tab', { name: 'Commits' }).click()
      await page.getByRole('link', { name: 'Review changes' }).click()
      const summary = page.getByLabel('Summary')
      await summary.and(page.locator(':focus')).waitFor(slow)
      await page.evaluate('scrollTo(0, 0)')
      await page.getByRole('link', { name: 'Review changes' }).click()
      await summary.and(page.locator(':focus')).waitFor(slow)
      expect(await summary.evaluate((field) => field.getBoundingClientRect().bottom <= innerHeight)).toBe(true)
      await page
        .getByRole('button', { name: 'Send review' })
        .or(page.getByRole('button', { name: 'Save review' }))
        .click()
      await page.getByText('Your review: 0 comments').waitFor(slow)
      expect([width, await unreachable()]).toEqual([width, []])
      await expectItFits(page)
      await page.evaluate('localStorage.clear()')
    }
    await expectItLooksRight(story, 'diff-room')
    expect(complaints).toEqual([])
  },
  limit,
)

test.skipIf(!browserPath)(
  'a diff offers no lines below the last one of a file, and its file tree and its panel stay in view on a long page',
  async () => {
    const { page, server, complaints } = story
    const names = Array.from({ length: 30 }, (_, at) => `data/${at}.bin`)
    await git(clone, 'checkout', '--quiet', '-B', 'long', 'origin/main')
    await push('long', {
      'end.txt': forty(39),
      'middle.txt': forty(20),
      ...Object.fromEntries(names.map((name) => [name, `\0${name}`])),
    })
    const { number } = await server.json<{ number: number }>([
      ...['cr', 'open', '--title', 'Many binaries', '--head', 'long', '--project', project.project_id],
    ])
    await page.setViewportSize({ width: 1440, height: 900 })
    // The notice above the page comes with a new token.
    await server.send('POST', '/v1/accounts/tokens', { name: 'second' })
    await page.goto(`${server.url}/projects/${project.slug}/change-requests/${number}`)
    await page.getByText('0 of 32 files viewed').waitFor(slow)
    const gaps = (file: string) =>
      page.locator(`[data-file="${file}"] [data-unmodified-lines]`).filter({ visible: true })
    await gaps('middle.txt').last().waitFor(slow)
    expect(await gaps('middle.txt').count()).toBe(2)
    expect(await gaps('end.txt').allTextContents()).toEqual(['35 unmodified lines'])

    const notice = page.getByText('Created in your name since your last visit')
    const panel = page.getByRole('complementary', { name: 'Landing' })
    const filter = page.getByRole('searchbox', { name: 'Filter files' })
    const bottomOf = async (part: typeof panel) => {
      const { y, height } = (await part.boundingBox())!
      return Math.round(y + height)
    }
    await notice.waitFor(slow)
    expect(await bottomOf(panel)).toBe(900)
    await page.evaluate('scrollTo(0, 700)')
    await until('the notice is scrolled away', async () => (await bottomOf(notice)) < 0)
    await until('the panel fills its side', async () => (await bottomOf(panel)) === 900)
    const bar = page.getByRole('navigation', { name: 'Breadcrumbs' })
    expect((await filter.boundingBox())!.y).toBeGreaterThan(await bottomOf(bar))
    await page.screenshot({ path: join(pictures, 'diff-scrolled-1440.png') })
    await filter.click()
    await page.getByRole('button', { name: 'Dismiss' }).click()
    await notice.waitFor({ ...slow, state: 'detached' })
    expect(complaints).toEqual([])
  },
  limit,
)
