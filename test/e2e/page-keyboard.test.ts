/** A review and a merge without a mouse; then the same pages on a narrow screen. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdtemp } from 'node:fs/promises'
import { join } from 'node:path'
import type { Locator, Route } from 'playwright-core'
import { browserPath } from './browser.ts'
import { git } from './harness.ts'
import {
  axeViolations,
  beginPageStory,
  expectItFits,
  gatewayOf,
  type PageStory,
  pictures,
  pressTabTo,
} from './page-story.ts'

let story: PageStory
let project: { project_id: string; slug: string }

beforeAll(async () => {
  if (!browserPath) return
  story = await beginPageStory({ SVC_SANDBOX_DRIVER: 'none' })
  const { server } = story
  project = await server.json(['projects', 'create', '--name', 'keys'])
  const clone = await mkdtemp(join(server.dir, 'clone-'))
  await git(clone, 'init', '--quiet', '--initial-branch=main')
  await git(clone, 'remote', 'add', 'origin', gatewayOf(server, project))
  await Bun.write(join(clone, 'a.txt'), 'a\n')
  await git(clone, 'add', '.')
  await git(clone, 'commit', '--quiet', '-m', 'First')
  await git(clone, 'push', '--quiet', 'origin', 'main')
  for (const branch of ['keys', 'thumbs']) {
    await git(clone, 'checkout', '--quiet', '-b', branch, 'main')
    for (const name of ['one', 'two', 'three']) await Bun.write(join(clone, `${branch}-${name}.txt`), `${name}\n`)
    await git(clone, 'add', '.')
    await git(clone, 'commit', '--quiet', '-m', branch)
    await git(clone, 'push', '--quiet', 'origin', branch)
    await server.json(['cr', 'open', '--title', `By ${branch}`, '--head', branch, '--project', project.project_id])
  }
}, 180_000)
afterAll(() => story?.end(), 120_000)

const hasFocus = (element: Locator) => element.and(story.page.locator(':focus')).waitFor()
const tabTo = (name: RegExp) => pressTabTo(story.page, name)

test.skipIf(!browserPath)(
  'the keyboard alone leads from home to a merge',
  async () => {
    const { page, server, complaints } = story
    await page.goto(server.url)
    await page.getByRole('link', { name: '#1 By keys' }).waitFor()
    await page.keyboard.press('Tab')
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Skip to content')
    await page.keyboard.press('Enter')
    await tabTo(/^#1 By keys/)
    await page.keyboard.press('Enter')
    await page.getByText('Merges cleanly').waitFor()
    await hasFocus(page.getByRole('heading', { name: /^By keys/ }))
    await tabTo(/^Files/)
    await page.keyboard.press('ArrowRight')
    await page.keyboard.press('Enter')
    await page.getByRole('list', { name: 'Timeline' }).waitFor()
    await page.keyboard.press('ArrowLeft')
    await page.keyboard.press('Enter')
    await page.getByText('0 of 3 files viewed').waitFor()

    const current = page.getByRole('navigation', { name: 'Changed files' }).locator('[aria-current=true]')
    const isAt = (name: string) => current.filter({ hasText: name }).waitFor()
    await page.keyboard.press('?')
    await page.getByRole('heading', { name: 'Keyboard shortcuts', exact: true }).waitFor()
    await page.screenshot({ path: join(pictures, 'keys-1280.png') })
    await page.keyboard.press('Escape')
    await page.getByRole('heading', { name: 'Keyboard shortcuts', exact: true }).waitFor({ state: 'detached' })
    await page.keyboard.press('j')
    await isAt('keys-one.txt')
    await page.keyboard.press('v')
    await page.getByText('1 of 3 files viewed').waitFor()
    await page.keyboard.press('j')
    await isAt('keys-three.txt')
    await page.keyboard.press('k')
    await isAt('keys-one.txt')
    await page.keyboard.press('n')
    await isAt('keys-three.txt')
    await page.keyboard.press('c')
    await page.getByLabel(/^Comment on line 1 of keys-three/).waitFor()
    await page.keyboard.type('Why three? j k v n')
    await page.keyboard.press('Control+Enter')
    await page.getByText('Your review: 1 comment').waitFor()
    await page.getByText('1 of 3 files viewed').waitFor()
    await page.reload()
    await page.getByText('Your review: 1 comment').waitFor()
    await page.getByText('1 of 3 files viewed').waitFor()
    await tabTo(/^Save review$/)
    await page.keyboard.press('Enter')
    await page.getByText('Your review: 0 comments').waitFor()

    await page.goto(`${server.url}/projects/${project.slug}/change-requests/1?tab=conversation`)
    await page.getByText('Why three?').waitFor()
    await tabTo(/^Merge into main$/)
    await page.keyboard.press('Enter')
    await page.getByText(/ merged this into main as/).waitFor()
    await hasFocus(page.getByRole('complementary', { name: 'Landing' }))
    expect(complaints).toEqual([])
  },
  180_000,
)

test.skipIf(!browserPath)(
  'a page that opens takes the focus from the sidebar, a menu or the search to its heading, and Back to what had it',
  async () => {
    const { page, server, complaints } = story
    const sidebar = page.getByRole('banner')
    const heading = (name: string) => page.getByRole('heading', { name, exact: true, level: 1 })
    await page.goto(server.url)
    await page.getByRole('link', { name: '#2 By thumbs' }).waitFor()
    // Nothing moved the user yet, so Tab begins at the top.
    expect(await page.evaluate('document.activeElement === document.body')).toBe(true)
    await page.keyboard.press('j')
    await hasFocus(page.getByRole('link', { name: '#2 By thumbs' }))
    await sidebar.getByRole('link', { name: 'Branches' }).press('Enter')
    await hasFocus(heading('Branches'))
    await sidebar.getByRole('button', { name: /Account menu/ }).press('Enter')
    await page.getByRole('menuitem', { name: 'Members' }).press('Enter')
    await hasFocus(heading('Members'))
    await page.keyboard.press('Control+k')
    await page.getByRole('combobox', { name: 'Search or jump to' }).fill('secrets')
    await page.keyboard.press('Enter')
    await hasFocus(heading('Secrets'))
    for (const _ of [1, 2, 3]) await page.goBack()
    await hasFocus(page.getByRole('link', { name: '#2 By thumbs' }))
    expect(complaints).toEqual([])
  },
  120_000,
)

test.skipIf(!browserPath)(
  'the frame and the heading of a page are there while it loads',
  async () => {
    const { page, server, complaints } = story
    const held = Promise.withResolvers<void>()
    const hold = (gate: PromiseWithResolvers<void>) => async (route: Route) => {
      await gate.promise
      await route.continue()
    }
    await page.route(/\/change-requests\?.*number=2/, hold(held))
    await page.goto(server.url)
    await page.getByRole('link', { name: '#2 By thumbs' }).press('Enter')
    await page.getByRole('heading', { name: 'Change request #2', level: 1 }).waitFor()
    await page.getByText('Loading the change request…').waitFor()
    await page.getByRole('navigation', { name: 'Project' }).getByRole('link', { name: 'Branches' }).waitFor()
    expect(await axeViolations(page)).toEqual([])
    held.resolve()
    await page.getByRole('heading', { name: /^By thumbs/, level: 1 }).waitFor()
    await page.unrouteAll({ behavior: 'wait' })

    const signedIn = Promise.withResolvers<void>()
    await page.route('**/v1/accounts/me', hold(signedIn))
    await page.goto(`${server.url}/projects/${project.slug}/branches`)
    await page.getByText('Loading your account…').waitFor()
    await page.getByRole('heading', { name: 'Branches', level: 1 }).waitFor()
    await page.screenshot({ path: join(pictures, 'loading-frame-1280.png') })
    expect(await axeViolations(page)).toEqual([])
    signedIn.resolve()
    await page.getByRole('navigation', { name: 'Project' }).getByRole('link', { name: 'Branches' }).waitFor()
    await page.unrouteAll({ behavior: 'wait' })
    // axe makes style elements of its own, which the page's policy refuses.
    expect(complaints.splice(0).filter((text) => !text.includes('Content Security Policy'))).toEqual([])
  },
  120_000,
)

test.skipIf(!browserPath)(
  'menus are in a landmark, and a page has a heading while its title is edited and where nothing is found',
  async () => {
    const { page, server, complaints } = story
    await page.setViewportSize({ width: 1280, height: 800 })
    await page.goto(`${server.url}/projects/${project.slug}/change-requests/2`)
    await page.getByRole('heading', { name: /^By thumbs/ }).waitFor()
    for (const name of [/Account menu/, /Switch project/]) {
      await page.getByRole('button', { name }).click()
      await page.getByRole('menu').waitFor()
      expect([String(name), await axeViolations(page)]).toEqual([String(name), []])
      const box = (await page.getByRole('menu').boundingBox())!
      const top = await page.evaluate(({ x, y }) => document.elementFromPoint(x, y)?.closest('[role=menu]') !== null, {
        x: box.x + box.width - 8,
        y: box.y + 8,
      })
      expect([String(name), top]).toEqual([String(name), true])
      await page.screenshot({ path: join(pictures, `menu-${String(name).slice(1, 7).trim()}-1280.png`) })
      await page.keyboard.press('Escape')
      await page.getByRole('menu').waitFor({ state: 'detached' })
    }
    await page.getByRole('button', { name: 'Edit', exact: true }).click()
    await page.getByLabel('Title').waitFor()
    expect(await axeViolations(page)).toEqual([])
    await page.goto(`${server.url}/nothing-here`)
    await page.getByRole('heading', { name: 'Page not found' }).waitFor()
    expect(await axeViolations(page)).toEqual([])
    await page.goto(`${server.url}/projects/${project.slug}/change-requests/999`)
    await page.getByRole('link', { name: 'See the change requests of this project' }).waitFor()
    expect(await axeViolations(page)).toEqual([])
    expect(complaints.splice(0).filter((text) => !text.includes('Content Security Policy'))).toEqual([])
  },
  120_000,
)

test.skipIf(!browserPath)(
  'a change is read, commented and merged at 360 pixels, and nothing is wider than the screen',
  async () => {
    const { page, server, complaints } = story
    await page.setViewportSize({ width: 360, height: 740 })
    await page.goto(server.url)
    await page.getByRole('link', { name: '#2 By thumbs' }).click()
    await page.getByRole('button', { name: 'Show details' }).click()
    await page.getByText('a merge commit adds').waitFor()
    await expectItFits(page)
    await page.getByRole('tab', { name: 'Files' }).click()
    await page.getByRole('button', { name: 'File tree' }).click()
    await page
      .getByRole('button', { name: /thumbs-two/ })
      .first()
      .click()
    await page.keyboard.press('c')
    await page.getByLabel(/^Comment on line 1/).fill('Good.')
    await page.getByRole('button', { name: 'Add to review' }).click()
    await page.getByText('Your review: 1 comment').waitFor()
    await expectItFits(page)
    await page.getByRole('tab', { name: 'Conversation' }).click()
    // The page shows the reader's own name before the list of members is there.
    const shown = Promise.withResolvers<void>()
    await page.route('**/members?*', async (route) => {
      await shown.promise
      await route.continue()
    })
    await page.getByRole('button', { name: 'Merge into main' }).click()
    await page.getByText(/^Owner merged this into main as/).waitFor()
    shown.resolve()
    await page.unrouteAll({ behavior: 'wait' })
    await expectItFits(page)
    await page.screenshot({ path: join(pictures, 'merged-by-thumb-360.png') })
    expect(complaints).toEqual([])
  },
  180_000,
)

test.skipIf(!browserPath)(
  'a key opens a search that jumps to a page, and a narrow screen has the sidebar in a drawer that keeps the focus',
  async () => {
    const { page, server, complaints } = story
    await page.setViewportSize({ width: 1280, height: 800 })
    await page.goto(server.url)
    await page.getByRole('link', { name: 'Inbox' }).waitFor()
    await page.keyboard.press('Control+k')
    await page.getByRole('combobox', { name: 'Search or jump to' }).fill('webhooks')
    expect(await axeViolations(page)).toEqual([])
    await page.keyboard.press('Enter')
    await page.waitForURL(`${server.url}/projects/${project.slug}/webhooks`)
    await page.getByRole('heading', { name: 'Webhooks', exact: true }).waitFor()
    const current = page.getByRole('navigation', { name: 'Project' }).locator('[aria-current=page]')
    expect(await current.textContent()).toBe('Webhooks')

    await page.setViewportSize({ width: 360, height: 740 })
    const menu = page.getByRole('button', { name: 'Open menu' })
    await menu.focus()
    await page.keyboard.press('Enter')
    const drawer = page.getByRole('dialog', { name: 'Menu' })
    await drawer.getByRole('link', { name: 'Sessions' }).waitFor()
    expect(await axeViolations(page)).toEqual([])
    await expectItFits(page)
    for (let i = 0; i < 30; i++) await page.keyboard.press('Tab')
    expect(await page.evaluate('document.activeElement.closest("[role=dialog]") !== null')).toBe(true)
    await page.screenshot({ path: join(pictures, 'drawer-360.png') })
    await page.keyboard.press('Escape')
    await drawer.waitFor({ state: 'detached' })
    expect(await page.evaluate('document.activeElement.getAttribute("aria-label")')).toBe('Open menu')
    await menu.click()
    await drawer.getByRole('link', { name: 'Sessions' }).click()
    await page.getByRole('heading', { name: 'Sessions', exact: true }).waitFor()
    await drawer.waitFor({ state: 'detached' })
    expect(complaints).toEqual([])
  },
  120_000,
)
