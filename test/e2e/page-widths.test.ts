/** Pages with long names and many controls, in a browser at the widths of laptops: nothing scrolls sideways or wraps. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdtemp } from 'node:fs/promises'
import { join } from 'node:path'
import { browserPath } from './browser.ts'
import { git } from './harness.ts'
import { beginPageStory, expectItFits, expectItLooksRight, gatewayOf, type PageStory } from './page-story.ts'

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
  await push('main', { 'README.md': 'Payments\n' })
}, limit)
afterAll(() => story?.end(), 60_000)

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
