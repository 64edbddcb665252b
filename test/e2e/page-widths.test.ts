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
afterAll(() => story?.end(), 120_000)

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
    await server.json(['secrets', 'set', `${secret}=abcdefgh`, '--project', project.project_id])
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
      // The event that revokes a token has only its id.
      const token = { object_type: 'token', object_id: crypto.randomUUID(), object_name: null, project_id: null }
      const revoked = { ...row, ...token, event_id: -2, action: 'token.revoke', before: null, after: null }
      const made = { ...revoked, event_id: -1, action: 'token.create', after: { name: 'build server' } }
      await route.fulfill({ response: reply, json: [agents, revoked, made, { ...row, ...address }, ...rows] })
    })
    await page.goto(`${server.url}/account/audit`)
    const log = page.getByRole('region', { name: 'Audit log' })
    await log.getByText(`Agent in ${name}`).waitFor(slow)
    await log.getByRole('row').filter({ hasText: 'Token: revoke' }).getByText('build server').waitFor(slow)
    for (const width of [390, 1024, 1280, 1440]) {
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
  'the inbox shows a command in a reason as code, and two notices are as far apart as any two',
  async () => {
    const { page, server, complaints } = story
    await git(clone, 'checkout', '--quiet', '-b', 'reason')
    await push('reason', { 'reason.ts': 'export const reason = 1\n' })
    const { number } = await server.json<{ number: number }>([
      ...['cr', 'open', '--title', 'Retry deliveries that fail with a timeout, and wait longer each time'],
      ...['--head', 'reason', '--project', project.project_id],
    ])
    await page.route(/\/v1\/inbox(\?|$)/, async (route) => {
      const reply = await route.fetch()
      const text = await reply.text()
      if (!reply.headers()['content-type']?.includes('json')) return route.fulfill({ response: reply })
      const why = JSON.stringify('Its sandbox ended. `svc sessions recover` restores saved work.')
      await route.fulfill({ response: reply, body: text.replaceAll(/"why":"[^"]*"/g, `"why":${why}`) })
    })
    await page.route('**/v1/accounts/me', async (route) => {
      const reply = await route.fetch()
      const held = { backup_created_at: new Date().toISOString() }
      await route.fulfill({ response: reply, json: { ...((await reply.json()) as object), held } })
    })
    const created = { notice_id: '1', action: 'token.create', name: 'ci', at: new Date().toISOString() }
    const notices = [{ ...created, address: null, token_name: null }]
    await page.route('**/v1/accounts/notices', (route) => route.fulfill({ json: { notices } }))
    await page.setViewportSize({ width: 1280, height: 900 })
    await page.goto(server.url)
    await page.locator('main code', { hasText: 'svc sessions recover' }).first().waitFor(slow)
    expect(await page.getByRole('main').getByText('`').count()).toBe(0)
    const boxOf = async (title: string) =>
      (await page.getByRole('main').getByRole('status').filter({ hasText: title }).boundingBox())!
    await page.getByText('New access in your name').waitFor(slow)
    const [first, second] = [await boxOf('This server was restored'), await boxOf('New access in your name')]
    expect(second.y - first.y - first.height).toBe(8)
    // On a phone the number follows the last word of a long title.
    await page.setViewportSize({ width: 390, height: 844 })
    const title = (await page.getByRole('link', { name: `#${number} Retry deliveries` }).boundingBox())!
    const end = (await page.getByRole('main').getByText(`#${number}`, { exact: true }).boundingBox())!
    expect(title.height).toBeGreaterThan(30)
    expect(Math.abs(end.y + end.height - title.y - title.height)).toBeLessThan(4)
    // The button of a notice is below its text there.
    const last = (await page.getByText("If this wasn't you").boundingBox())!
    expect((await page.getByRole('button', { name: 'Dismiss' }).boundingBox())!.y).toBeGreaterThan(last.y + last.height)
    // On a tablet the title has room, on the list of the project as well.
    await page.setViewportSize({ width: 768, height: 900 })
    for (const list of [server.url, `${server.url}/projects/${project.slug}/change-requests`]) {
      await page.goto(list)
      const link = page.getByRole('main').getByRole('link', { name: /Retry deliveries/ })
      await link.waitFor(slow)
      expect((await link.boundingBox())!.width).toBeGreaterThan(300)
    }
    await page.unrouteAll({ behavior: 'wait' })
    await server.svc(['cr', 'close', String(number), '--project', project.project_id])
    await git(clone, 'checkout', '--quiet', '-')
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
    const opened = await server.json<{ number: number }>([
      ...['cr', 'open', '--title', 'Retry', '--head', 'retry', '--project', project.project_id],
    ])
    const address = `${server.url}/projects/${project.slug}/change-requests/${opened.number}`
    await page.setViewportSize({ width: 1280, height: 900 })
    await page.goto(address)
    await page.getByText('0 of 1 file viewed').waitFor(slow)
    for (const wait of [250, 100]) await push('retry', { 'retry.ts': `export const wait = ${wait}\n` })
    await page.goto(address)
    const tools = page.getByRole('toolbar', { name: 'Diff options' })
    await tools.getByRole('button', { name: 'Since your last visit' }).waitFor(slow)
    await tools.getByRole('button', { name: /^main → v[23]/ }).waitFor(slow)
    // The frame of a short diff ends with it, so that the review is in the first screen.
    expect((await page.getByText('Your review: 0 comments').boundingBox())!.y).toBeLessThan(800)
    for (const width of [1280, 1440, 1600]) {
      await page.setViewportSize({ width, height: 900 })
      // As high as one button.
      expect(await tools.evaluate((bar) => bar.clientHeight)).toBeLessThan(48)
      await expectItFits(page)
    }
    await tools.getByRole('button', { name: 'Ignore whitespace' }).click()
    await tools.getByRole('button', { name: 'Ignore whitespace', pressed: true }).waitFor(slow)
    await tools.getByRole('button', { name: 'Ignore whitespace' }).click()
    // The code has the theme that the user chose, whatever the system has.
    await page.emulateMedia({ colorScheme: 'light' })
    for (const theme of ['dark', 'light']) {
      await page.evaluate(`document.documentElement.dataset.theme = '${theme}'`)
      const code = page.locator('[data-code]').first()
      expect(await code.evaluate((element) => getComputedStyle(element).colorScheme)).toBe(theme)
    }
    await page.evaluate('delete document.documentElement.dataset.theme')
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
    for (const width of [360, 1024]) {
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
      expect(
        await page.getByRole('toolbar', { name: 'Diff options' }).evaluate((bar) => bar.clientHeight),
      ).toBeLessThan(48)
      // Below the bar with the verdict and the button, within the first screen.
      expect((await code.boundingBox())!.y).toBeLessThan(480)
      const panel = page.getByRole('complementary', { name: 'Landing' })
      await panel.getByRole('heading', { name: 'Ready to land' }).waitFor(slow)
      await panel.getByRole('button', { name: 'Merge into main' }).waitFor(slow)
      await panel.getByRole('button', { name: 'Show details' }).click()
      await panel.getByText('Merges exactly this commit').waitFor(slow)
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
      // The bar quotes the open comments before what speaks for the merge.
      const rows = panel.getByRole('listitem').filter({ visible: true })
      await rows
        .first()
        .getByText(/Needs attention: \d open comments? of \d/)
        .waitFor(slow)
      expect(await rows.count()).toBe(width === 360 ? 1 : 4)
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
    // The viewer keeps the room of a gap there.
    const end = page.locator('[data-file="end.txt"] [data-content] > [data-separator-last]')
    expect(await end.evaluate((gap) => getComputedStyle(gap, '::after').content)).toBe('"End of file"')
    expect(await end.isVisible()).toBe(true)

    const notice = page.getByText('New access in your name')
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

/** The contrast of the text of a button with its fill and of its line with the page, and how far these colors are from gray, of 255. */
const contrastsOf = (button: Element) => {
  const brush = document.createElement('canvas').getContext('2d', { willReadFrequently: true })!
  const luminance = (...layers: string[]) => {
    for (const layer of layers) {
      brush.fillStyle = layer
      brush.fillRect(0, 0, 1, 1)
    }
    const [r, g, b] = [...brush.getImageData(0, 0, 1, 1).data].map((byte) => {
      const part = byte / 255
      return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4
    })
    return 0.2126 * r! + 0.7152 * g! + 0.0722 * b!
  }
  const contrast = (one: number, other: number) => (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05)
  const { color, backgroundColor: fill, boxShadow, opacity } = getComputedStyle(button)
  const ground = getComputedStyle(document.body).backgroundColor
  const line = /([a-z]+\([^)]*\)) 0px 0px 0px 1px inset/.exec(boxShadow)?.[1] ?? fill
  return {
    opacity,
    text: contrast(luminance(ground, fill, color), luminance(ground, fill)),
    line: contrast(luminance(ground, fill, line), luminance(ground)),
    tint: Math.max(
      ...[color, fill, line].map((layer) => {
        luminance(ground, layer)
        const channels = [...brush.getImageData(0, 0, 1, 1).data].slice(0, 3)
        return Math.max(...channels) - Math.min(...channels)
      }),
    ),
  }
}

test.skipIf(!browserPath)(
  'the fields of settings have one width, and a disabled button is neutral and readable in both themes',
  async () => {
    const { page, server, complaints } = story
    await page.setViewportSize({ width: 1440, height: 900 })
    await page.goto(`${server.url}/projects/${project.slug}/settings`)
    await page.getByLabel('Default branch', { exact: true }).waitFor(slow)
    const boxes = () =>
      page.locator('main form label').evaluateAll((labels) =>
        labels.map((label) => {
          const { x, width } = label.getBoundingClientRect()
          return { x: Math.round(x), width: Math.round(width) }
        }),
      )
    const [name, branch, ...rest] = await boxes()
    expect(branch!.width).toBe(name!.width)
    expect(rest).toEqual([name!, branch!])
    await page.setViewportSize({ width: 390, height: 844 })
    expect(new Set((await boxes()).map((box) => JSON.stringify(box))).size).toBe(1)
    // A hint stands beside its label, which stays level with the next one.
    await page.setViewportSize({ width: 1440, height: 900 })
    await page.goto(`${server.url}/account/tokens`)
    const levelOf = async (label: string) => (await page.getByText(label, { exact: true }).first().boundingBox())!.y
    await page.getByText('What it is for').waitFor(slow)
    expect(await levelOf('Name')).toBe(await levelOf('Expires'))
    // On a phone the button of a row stays beside its name.
    const long = 'pulls from the machines that build the packages'
    await server.send('POST', '/v1/accounts/tokens', { name: long })
    await page.reload()
    await page.setViewportSize({ width: 390, height: 844 })
    // It moves what is below it.
    await page.getByText('New access in your name').waitFor(slow)
    const shown = (await page.getByText(long, { exact: true }).boundingBox(slow))!
    const revoke = (await page.getByRole('button', { name: `Revoke ${long}` }).boundingBox())!
    expect(revoke.x).toBeGreaterThanOrEqual(shown.x + shown.width)
    expect(revoke.y).toBeLessThan(shown.y + shown.height)
    await page.setViewportSize({ width: 1440, height: 900 })
    await page.goto(`${server.url}/account/profile`)
    const save = page.getByRole('button', { name: 'Save password' })
    await save.and(page.locator('[aria-disabled]')).waitFor(slow)
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme })
      const { opacity, text, line, tint } = await save.evaluate(contrastsOf)
      expect(opacity).toBe('1')
      expect([colorScheme, text > 4.5, line > 3, tint < 16]).toEqual([colorScheme, true, true, true])
    }
    await expectItLooksRight(story, 'settings-fields')
    expect(complaints).toEqual([])
  },
  limit,
)
