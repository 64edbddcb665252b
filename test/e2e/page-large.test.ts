/** Large pages stay light: the document contains only what is near the screen, and nothing moves the text that a user reads. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdtemp } from 'node:fs/promises'
import { join } from 'node:path'
import type { Request } from 'playwright-core'
import { browserPath } from './browser.ts'
import { git, makeFirstCommit, until } from './harness.ts'
import { insertChangeRequests, insertLiveMessage, insertMessages, longFile, manyFiles } from './large-fixtures.ts'
import { beginPageStory, expectItFits, gatewayOf, type PageStory, pictures } from './page-story.ts'

const slow = { timeout: 60_000 }
/** The number of elements on a page without large content is about two hundred. Each row or message near the screen has some ten. */
const elementsMax = 1_500
/** A screen of a diff side by side: each line some ten, and the words in it. */
const diffElementsMax = 6_000
let story: PageStory
let project: { project_id: string; slug: string }

beforeAll(async () => {
  if (!browserPath) return
  story = await beginPageStory({ SVC_SANDBOX_DRIVER: 'none' })
  project = await story.server.json(['projects', 'create', '--name', 'large'])
  await makeFirstCommit(story.server, project.project_id)
}, 180_000)
afterAll(() => story?.end(), 120_000)

const elements = () => story.page.evaluate(() => document.querySelectorAll('*').length)

/** Where the first row in sight stands on the screen. */
const inSight = () =>
  story.page.evaluate(() => {
    const row = [...document.querySelectorAll('li[data-index]')].find((each) => each.getBoundingClientRect().top > 100)
    return { text: row?.textContent?.slice(0, 200), top: Math.round(row?.getBoundingClientRect().top ?? 0) }
  })
const frames = () =>
  story.page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))))

test.skipIf(!browserPath)(
  'a conversation of 2,000 messages starts at its end, loads earlier messages in place, and does not jump for new ones',
  async () => {
    const { page, server, complaints } = story
    const { session_id: session } = await server.json<{ session_id: string }>([
      ...['sessions', 'new', '--no-wait', '--name', 'long', '--project', project.project_id],
    ])
    await insertMessages(server, session, 2_000)
    await page.goto(`${server.url}/projects/${project.slug}/sessions/${session}`)
    await page.getByText('This was said 1999.').waitFor(slow)
    await until('the end to be in sight', () =>
      page.evaluate(() => document.documentElement.scrollHeight - innerHeight - scrollY < 120),
    )
    await page.screenshot({ path: join(pictures, 'conversation-large-1280.png') })

    // Near the first that is there, earlier ones come, and what is in sight stays where it is.
    const rows = () => page.locator('li[data-index]').first().getAttribute('data-index').then(Number)
    await until('the first of them to be near', async () => {
      await page.mouse.wheel(0, -1_500)
      await frames()
      return (await rows()) < 10
    })
    let pages = 0
    let elementsSeen = 0
    const beginning = page.getByText('Start of the conversation')
    while ((await beginning.count()) === 0) {
      expect(++pages).toBeLessThan(40)
      await page.evaluate(() => scrollTo(0, 0))
      await frames()
      elementsSeen = Math.max(elementsSeen, await elements())
      await until('earlier messages', async () => (await rows()) > 10 || (await beginning.count()) > 0, 60_000)
    }
    await page.evaluate(() => scrollTo(0, 0))
    await page.getByText('This was said 0.').waitFor(slow)
    expect(elementsSeen).toBeLessThan(elementsMax)

    await page.evaluate(() => scrollTo(0, document.documentElement.scrollHeight / 2))
    await frames()
    const height = () => page.evaluate(() => document.documentElement.scrollHeight)
    await until('all in sight to be measured', async () => {
      const before = await height()
      await frames()
      return before === (await height())
    })
    const [before, heightBefore] = [await inSight(), await height()]
    await insertLiveMessage(server, session, 'News from the end.')
    await until('the news', async () => (await height()) > heightBefore, 60_000)
    expect(await inSight()).toEqual(before)
    expect(await elements()).toBeLessThan(elementsMax)
    await page.evaluate(() => scrollTo(0, document.documentElement.scrollHeight))
    await page.getByText('News from the end.').waitFor(slow)
    await expectItFits(page)
    expect(complaints).toEqual([])
  },
  240_000,
)

test.skipIf(!browserPath)(
  'a list of 5,000 change requests renders few rows, loads more on scrolling, and is searched by the service',
  async () => {
    const { page, server, complaints } = story
    await insertChangeRequests(server, project, 5_000)
    const list = `${server.url}/projects/${project.slug}/change-requests`
    const asked = new Set<string>()
    page.on('request', (request) => {
      if (/\/v1\/.*\/change-requests\?/.test(request.url())) asked.add(request.url())
    })
    await page.goto(`${list}?status=all`)
    await page.getByRole('link', { name: 'Change 5000 #5000' }).waitFor(slow)
    await page.getByText('Showing the newest 100. Scroll to load more.').waitFor(slow)
    expect(asked.size).toBe(1)
    await page.screenshot({ path: join(pictures, 'change-requests-large-1280.png') })

    const bottom = async (row: string) => {
      await until(row, async () => {
        await page.evaluate(() => scrollTo(0, document.documentElement.scrollHeight))
        await frames()
        expect(await elements()).toBeLessThan(elementsMax)
        return (await page.getByRole('link', { name: row, exact: true }).count()) > 0
      })
    }
    await bottom('Change 1 #1')
    await page.getByText('5000 change requests', { exact: true }).waitFor(slow)
    expect(await page.locator('li[aria-posinset="5000"][aria-setsize="5000"]').count()).toBe(1)
    expect(asked.size).toBe(50)

    // One that is new is not pushed in under the eyes of whoever reads below it; it is there at the top.
    const before = await inSight()
    await server.json(['cr', 'open', '--title', 'New', '--head', 'work-7', '--project', project.project_id])
    await page.evaluate(() => scrollTo(0, 0))
    await page.getByRole('link', { name: 'New #5001' }).waitFor(slow)
    expect(before.text).toContain('Change')

    const filter = page.getByRole('searchbox', { name: /^Filter/ })
    await filter.fill('change 471')
    await page.getByText('11 change requests', { exact: true }).waitFor(slow)
    await filter.fill('#47')
    await page.getByText('1 change request', { exact: true }).waitFor(slow)
    await page.getByRole('link', { name: 'Change 47 #47', exact: true }).waitFor(slow)
    expect(page.url()).toContain('search=')
    await page.reload()
    await page.getByText('1 change request', { exact: true }).waitFor(slow)
    await filter.fill('no such thing')
    await page.getByText('No change requests match “no such thing”.').waitFor(slow)
    expect(complaints).toEqual([])
  },
  240_000,
)

/** With those in shadow roots, where the diff viewer draws. */
const allElements = () =>
  story.page.evaluate(() => {
    const count = (root: Document | ShadowRoot): number =>
      [...root.querySelectorAll('*')].reduce((sum, { shadowRoot }) => sum + (shadowRoot ? count(shadowRoot) : 0), 0) +
      root.querySelectorAll('*').length
    return count(document)
  })

test.skipIf(!browserPath)(
  'a change of 3,000 files and 10,000 lines renders what is in sight, from the first file to the last',
  async () => {
    const { page, server, complaints } = story
    const changed = await server.json<{ project_id: string; slug: string }>(['projects', 'create', '--name', 'changed'])
    const clone = await mkdtemp(join(server.dir, 'clone-'))
    await git(clone, 'init', '--quiet', '--initial-branch=main')
    for (const [branch, word] of [
      ['main', 'was'],
      ['work', 'is'],
    ] as const) {
      if (branch === 'work') await git(clone, 'checkout', '--quiet', '-b', branch)
      const files = { 'a-long.ts': longFile(word, 10_000), ...manyFiles(word, 2_999) }
      await Promise.all(Object.entries(files).map(([path, text]) => Bun.write(join(clone, path), text)))
      await git(clone, 'add', '--all')
      await git(clone, 'commit', '--quiet', '-m', branch)
      await git(clone, 'push', '--quiet', gatewayOf(server, changed), branch)
    }
    await server.json(['cr', 'open', '--title', 'Large', '--head', 'work', '--project', changed.project_id])
    // Prefetched before the page's own code is there, and not asked for again by it.
    const asked: Request[] = []
    page.on('request', (request) => {
      if (request.url().includes('/diff?')) asked.push(request)
    })
    await page.goto(`${server.url}/projects/${changed.slug}/change-requests/1?tab=files`)
    await page.getByText('0 of 3000 files viewed').waitFor(slow)
    const answers = await Promise.all(asked.map((request) => request.response()))
    expect(answers.filter((answer) => answer?.ok()).length).toBe(1)
    await page.getByText("'it is 0'").first().waitFor(slow)
    expect(await allElements()).toBeLessThan(diffElementsMax)
    await page.screenshot({ path: join(pictures, 'diff-large-1280.png') })
    await expectFirstFilesEarly(changed)

    const tree = page.getByRole('navigation', { name: 'Changed files' })
    await page.locator('body').press('j')
    await page.locator('body').press('j')
    await tree.locator('[aria-current="true"]', { hasText: 'module-0.ts' }).waitFor(slow)
    await page.getByText("'is 0.5'").first().waitFor(slow)
    await tree.getByRole('searchbox').fill('module-2998.ts')
    await tree.getByText('1 of 3000 files').waitFor(slow)
    await tree.getByRole('button', { name: /module-2998/ }).click()
    await page.getByText("'is 2998.5'").first().waitFor(slow)
    expect(await allElements()).toBeLessThan(diffElementsMax)
    expect(complaints).toEqual([])
  },
  240_000,
)

/** Another tab whose diff stops arriving after its first files, until `letArrive` runs in it. */
async function expectFirstFilesEarly({ slug }: { slug: string }): Promise<void> {
  const { page, server } = story
  const other = await page.context().newPage()
  await other.addInitScript(() => {
    const send = window.fetch
    const gate = Promise.withResolvers<void>()
    Object.assign(window, { letArrive: gate.resolve })
    const fetchHeld = async (...request: Parameters<typeof fetch>) => {
      const response = await send(...request)
      if (!response.url.includes('/diff?') || response.body === null) return response
      let bytes = 0
      const held = new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>({
        async transform(chunk, controller) {
          const now = chunk.subarray(0, Math.max(0, 3_000_000 - bytes))
          bytes += chunk.length
          controller.enqueue(now)
          if (now.length < chunk.length) await gate.promise
          controller.enqueue(chunk.subarray(now.length))
        },
      })
      return new Response(response.body.pipeThrough(held), response)
    }
    window.fetch = Object.assign(fetchHeld, { preconnect: send.preconnect })
  })
  await other.goto(`${server.url}/projects/${slug}/change-requests/1?tab=files`)
  await other.getByText("'it is 0'").first().waitFor(slow)
  await other.getByText(/^[1-9]\d* of 3000 files loaded$/).waitFor(slow)
  await other.screenshot({ path: join(pictures, 'diff-arriving-1280.png') })
  await other.evaluate(() => (window as unknown as { letArrive: () => void }).letArrive())
  await other.getByText('0 of 3000 files viewed').waitFor(slow)
  await other.close()
}
