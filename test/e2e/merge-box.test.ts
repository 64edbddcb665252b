/** Every state of the merge box, in a browser: what it says, what it offers, and why the button is off. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdtemp } from 'node:fs/promises'
import { join } from 'node:path'
import type { Locator } from 'playwright-core'
import { serveHttpBackend } from '@svc/git/testing'
import { browserPath } from './browser.ts'
import { git } from './harness.ts'
import { beginPageStory, gatewayOf, type PageStory, pictures } from './page-story.ts'

let story: PageStory
let clone: string
let project: { project_id: string; slug: string }
const slow = { timeout: 60_000 }

beforeAll(async () => {
  if (!browserPath) return
  story = await beginPageStory({ SVC_SANDBOX_DRIVER: 'none', SVC_ALLOW_PRIVATE_GIT_HOSTS: '1' })
  const { server } = story
  project = await server.json(['projects', 'create', '--name', 'box'])
  clone = await mkdtemp(join(server.dir, 'clone-'))
  await git(clone, 'init', '--quiet', '--initial-branch=main')
  await git(clone, 'remote', 'add', 'origin', gatewayOf(server, project))
  await commit('main', { 'a.txt': 'a\n', 'b.txt': 'b\n' })
  await git(clone, 'push', '--quiet', 'origin', 'main')
}, 180_000)
afterAll(() => story?.end(), 120_000)

/** Files on a branch of their own, cut from main where it is new. */
async function commit(branch: string, files: Record<string, string>): Promise<void> {
  for (const [path, text] of Object.entries(files)) await Bun.write(join(clone, path), text)
  await git(clone, 'add', '.')
  await git(clone, 'commit', '--quiet', '-m', `On ${branch}: ${Object.keys(files).join(', ')}`)
}

async function propose(branch: string, files: Record<string, string>, title = branch): Promise<number> {
  await git(clone, 'fetch', '--quiet', 'origin')
  await git(clone, 'checkout', '--quiet', '-B', branch, 'origin/main')
  await commit(branch, files)
  await git(clone, 'push', '--quiet', 'origin', branch)
  const cr = await story.server.json<{ number: number }>([
    ...['cr', 'open', '--title', title, '--head', branch, '--project', project.project_id],
  ])
  return cr.number
}

const show = (number: number) =>
  story.page.goto(`${story.server.url}/projects/${project.slug}/change-requests/${number}`)
const noModel =
  "This server has no model, so agents can't work. An owner of this server can set one on the Model page of the account menu."
const mergeButton = () => story.page.getByRole('button', { name: 'Merge into main' })
const panel = () => story.page.getByRole('complementary', { name: 'Landing' })
const closeButton = () => story.page.getByRole('button', { name: 'Close without merging' })
const isAbove = async (one: Locator, other: Locator) =>
  (await one.boundingBox())!.y + (await one.boundingBox())!.height <= (await other.boundingBox())!.y
const picture = (name: string) => story.page.screenshot({ path: join(pictures, `merge-box-${name}-1280.png`) })
/** The state below the title, which agrees with the panel. */
const badge = (word: string) => story.page.locator('header p').getByText(word, { exact: true }).waitFor(slow)
const mainSays = async (format: string) => {
  await git(clone, 'fetch', '--quiet', 'origin')
  return git(clone, 'log', '-1', `--format=${format}`, 'origin/main')
}

test.skipIf(!browserPath)(
  'a draft is marked as one and merges only after it is marked as ready',
  async () => {
    const { page } = story
    const number = await propose('unfinished', { 'draft.txt': 'd\n' })
    await story.server.json(['cr', 'ready', String(number), '--undo', '--project', project.project_id])
    await show(number)
    await page.getByText("Can't merge: this is a draft.").waitFor(slow)
    expect(await mergeButton().getAttribute('aria-disabled')).toBe('true')
    await page.getByText('Draft', { exact: true }).filter({ visible: true }).first().waitFor()
    await picture('draft')
    await page.getByRole('button', { name: 'Mark as ready' }).click()
    await page.getByText('fast-forwards to').waitFor(slow)
    await page.getByRole('button', { name: 'Mark as ready' }).waitFor({ state: 'detached' })
    await mergeButton().click()
    await page.getByText(/^Owner merged this into main as/).waitFor(slow)
  },
  120_000,
)

test.skipIf(!browserPath)(
  'the merge box shows the check, a fast-forward, and who merged it and when',
  async () => {
    const { page } = story
    const number = await propose('forward', { 'c.txt': 'c\n' })
    const held = Promise.withResolvers<void>()
    const effects = Promise.withResolvers<void>()
    await page.route('**/merge-preview*', async (route) => {
      await (route.request().url().includes('effects') ? effects : held).promise
      await route.continue()
    })
    await show(number)
    await page.getByText('Checking mergeability').waitFor()
    await picture('checking')
    held.resolve()
    await page.getByText('fast-forwards to').waitFor(slow)
    // Effects that need confirmation can still be in the way.
    await page.getByRole('heading', { name: 'Checking…' }).waitFor()
    await badge('checking')
    expect(await page.locator('header p').getByText('ready', { exact: true }).count()).toBe(0)
    effects.resolve()
    await page.unrouteAll({ behavior: 'wait' })
    expect(await page.getByRole('button', { name: 'Edit message' }).count()).toBe(0)
    await badge('ready')
    await picture('forward')
    await mergeButton().click()
    await page.getByText(/^Owner merged this into main as/).waitFor(slow)
    await picture('merged')
    const sha = await mainSays('%H')
    await page.getByTitle(sha).first().waitFor()
    expect(await mergeButton().count()).toBe(0)
    expect(await page.getByRole('button', { name: 'Edit' }).count()).toBe(0)
  },
  120_000,
)

test.skipIf(!browserPath)(
  'the merge box shows the progress of a first fetch until it can merge',
  async () => {
    const { page } = story
    const number = await propose('large', { 'large.txt': 'large\n' })
    let objects = 120_000
    await page.route('**/merge-preview*', async (route) => {
      if (objects > 400_000) return route.continue()
      const progress = { is_first: true, phase: 'receiving', objects, objects_total: 400_000, bytes: 0 }
      const error = 'The repository is being fetched for the first time.'
      await route.fulfill({ status: 503, json: { error, code: 'repository_fetching', progress } })
    })
    await show(number)
    await page.getByText('Fetching the repository for the first time: 120,000 of 400,000 objects').waitFor(slow)
    await badge('checking')
    await picture('fetching')
    objects = 380_000
    await page.getByText('380,000 of 400,000 objects').waitFor(slow)
    objects = 400_001
    await page.getByText('fast-forwards to').waitFor(slow)
    await page.unrouteAll({ behavior: 'wait' })
  },
  120_000,
)

test.skipIf(!browserPath)(
  "the merge box shows the host's reason for a protected base and offers a pull request",
  async () => {
    const { page } = story
    const number = await propose('guarded', { 'guarded.txt': 'guarded\n' })
    const now = new Date().toISOString()
    const reason = 'GH006: Protected branch update failed for refs/heads/main.'
    const protection = { branch: 'main', reason, found_by: 'push', found_at: now }
    let url: string | null = null
    await page.route('**/pull-request', async (route) => {
      if (route.request().method() === 'POST') url = `${story.server.url}/pull/12`
      const pull_request = url === null ? null : { number: 12, url, created_at: now }
      await route.fulfill({ json: { protection, can_open: true, pull_request } })
    })
    await show(number)
    await page.getByText('The git host refused the last push to main').waitFor(slow)
    await panel().getByRole('heading', { name: 'Last push refused' }).waitFor()
    await badge('not ready')
    await page.getByRole('list', { name: 'Checklist' }).getByText('the last push was refused').waitFor()
    expect(await isAbove(page.getByText(reason), mergeButton())).toBe(true)
    // The rule may be gone, so another try stays possible.
    await mergeButton().and(page.locator(':not([aria-disabled])')).waitFor(slow)
    await picture('protected')
    await page.getByRole('button', { name: 'Create pull request' }).click()
    const link = page.getByRole('link', { name: 'Pull request #12' })
    await link.waitFor(slow)
    expect(await link.getAttribute('href')).toBe(url)
    expect(await page.getByRole('button', { name: 'Create pull request' }).count()).toBe(0)
    await page.unrouteAll({ behavior: 'wait' })
  },
  120_000,
)

test.skipIf(!browserPath)(
  'the merge box shows an edited merge commit message and collisions',
  async () => {
    const { page } = story
    const first = await propose('one', { 'a.txt': 'one\n' }, 'The first')
    const second = await propose('two', { 'a.txt': 'two\n' }, 'The second')
    const other = await propose('three', { 'd.txt': 'd\n' }, 'The third')
    await show(other)
    await mergeButton().click()
    await page.getByText(/ merged this into main as/).waitFor(slow)

    await show(first)
    await page.getByText('a merge commit adds').waitFor(slow)
    await badge('collides')
    await page.getByRole('heading', { name: `Collides with #${second}` }).waitFor()
    await page.getByRole('list', { name: 'Checklist' }).getByText(`Collides with #${second}`).waitFor()
    const collision = page.getByRole('list', { name: 'Collides with' }).getByRole('listitem')
    await collision.getByRole('link', { name: `#${second}` }).waitFor(slow)
    await collision.getByText('a.txt').waitFor()
    await collision.getByText('The second').waitFor(slow)
    await page.getByRole('button', { name: 'Edit message' }).click()
    await page.getByLabel('Merge commit message').fill('Take the first\n\nIt is better.')
    await picture('collides')
    await mergeButton().click()
    await page.getByText(/ merged this into main as/).waitFor(slow)
    expect(await mainSays('%B')).toStartWith('Take the first\n\nIt is better.')

    // The colliding change request conflicts now, and shows its files, what to do, and why the button is off.
    await show(second)
    await page.getByRole('list', { name: 'Conflicting files' }).getByText('a.txt').waitFor(slow)
    expect(await mergeButton().getAttribute('aria-disabled')).toBe('true')
    expect(await mergeButton().getAttribute('title')).toBe('1 file conflicts with main')
    await page.getByText("Can't merge: 1 file conflicts with main.").waitFor()
    await page.getByText('Resolve conflicts yourself').click()
    await page.getByText('git merge origin/main').waitFor()
    await page.getByText(`svc cr show ${second}`).waitFor()
    // No command is cut by the button beside it.
    const commands = page.getByRole('code').filter({ hasText: 'git merge origin/main' })
    expect(await commands.evaluate((code) => code.scrollWidth <= code.clientWidth)).toBe(true)
    expect(await page.getByRole('button', { name: 'Start an agent to resolve' }).getAttribute('title')).toBe(noModel)
    await badge('conflicts')
    await picture('conflicts')
    await mergeButton().click({ force: true })
    await page.getByText("Can't merge: 1 file conflicts with main.").waitFor()

    await page.getByRole('button', { name: 'Close without merging' }).click()
    await page.getByText(/^Owner closed this without merging/).waitFor(slow)
    await picture('closed')
    await page.getByRole('button', { name: 'Reopen' }).click()
    await page.getByRole('list', { name: 'Conflicting files' }).waitFor(slow)
  },
  120_000,
)

test.skipIf(!browserPath)(
  'the merge box does not merge a head that moved after the page loaded it',
  async () => {
    const { page } = story
    const number = await propose('moving', { 'e.txt': 'e\n' })
    await show(number)
    await page.getByText('fast-forwards to').waitFor(slow)
    // The page asks again every few seconds; here it does not hear the answers, so it shows what was.
    const held = Promise.withResolvers<void>()
    await page.route('**/change-requests?*', async (route) => {
      await held.promise
      await route.continue()
    })
    await page.route('**/merge-preview*', async (route) => {
      await held.promise
      await route.continue()
    })
    await commit('moving', { 'e.txt': 'e, later\n' })
    await git(clone, 'push', '--quiet', 'origin', 'moving')
    await mergeButton().click()
    const refused = page.getByText('Not merged: the branch has new commits')
    await refused.waitFor(slow)
    expect(await isAbove(refused, mergeButton())).toBe(true)
    await panel().getByRole('heading', { name: 'Not ready to land' }).waitFor()
    await badge('not ready')
    await picture('head-moved')
    held.resolve()
    await page.unrouteAll({ behavior: 'wait' })
    // Also when the page knows the new head, Merge waits until the user has seen it.
    const showNew = page.getByRole('button', { name: 'Show new commits', disabled: false })
    await showNew.waitFor(slow)
    await page.getByText("Can't merge: you haven't seen the new commits.").waitFor()
    expect(await mergeButton().getAttribute('aria-disabled')).toBe('true')
    const before = await git(clone, 'rev-parse', 'moving~')
    await showNew.click()
    await page.getByText(`Changes since ${before.slice(0, 10)}`).waitFor(slow)
    await panel().getByRole('heading', { name: 'Ready to land' }).waitFor(slow)
    const head = await git(clone, 'rev-parse', 'moving')
    await page.getByText(`fast-forwards to ${head.slice(0, 10)}`).waitFor(slow)
    await mergeButton().click()
    await page.getByText(/ merged this into main as/).waitFor(slow)
  },
  120_000,
)

test.skipIf(!browserPath)(
  'a merge while the network is away fails at once and does not run later',
  async () => {
    const { page, server } = story
    const number = await propose('offline', { 'offline.txt': 'o\n' })
    await show(number)
    await page.getByText('fast-forwards to').waitFor(slow)
    // The network goes away with the request of the merge: from then on the page offers no merge.
    await page.route('**/merge', async (route) => {
      await page.context().setOffline(true)
      await route.abort('internetdisconnected')
    })
    await mergeButton().click()
    const failure = page.getByText("The service isn't responding", { exact: true })
    await failure.waitFor(slow)
    await panel().getByRole('heading', { name: 'State unknown' }).waitFor(slow)
    await page.getByText("Can't merge: the service isn't responding.").waitFor()
    for (const button of [mergeButton(), closeButton()]) expect(await button.getAttribute('aria-disabled')).toBe('true')
    await badge('unreachable')
    // One notice says it, for the whole page.
    await page.getByText("Can't reach the service.").waitFor({ ...slow, state: 'detached' })
    await picture('offline')
    const refetched = page.waitForResponse((response) => response.url().includes('/merge-preview') && response.ok())
    await page.unroute('**/merge')
    await page.context().setOffline(false)
    await refetched
    const { change_request: cr } = await server.json<{ change_request: { status: string } }>([
      ...['cr', 'show', String(number), '--project', project.project_id],
    ])
    expect(cr.status).toBe('open')
    await panel().getByRole('heading', { name: 'Ready to land' }).waitFor(slow)
    await mergeButton().click()
    await page.getByText(/ merged this into main as/).waitFor(slow)
  },
  120_000,
)

test.skipIf(!browserPath)(
  'the merge box shows nothing to merge, missing secrets, and an invalid manifest',
  async () => {
    const { page, server } = story
    const number = await propose('empty', { 'f.txt': 'f\n' })
    await show(number)
    await mergeButton().click()
    await page.getByText(/ merged this into main as/).waitFor(slow)
    const again = await server.json<{ number: number }>([
      ...['cr', 'open', '--title', 'Again', '--head', 'empty', '--project', project.project_id],
    ])
    await show(again.number)
    await page.getByText('main already contains these commits.').waitFor(slow)
    await page.getByRole('button', { name: 'Mark as merged' }).waitFor()
    expect(await mergeButton().count()).toBe(0)
    await picture('nothing')
    await page.getByText('it only marks this change request as merged').waitFor()
    await page.getByRole('button', { name: 'Mark as merged' }).click()
    await page.getByText(/^Owner marked this as merged .*main already contained its commits at/).waitFor(slow)
    await picture('nothing-merged')

    const needy = await propose('needy', { 'svc.toml': 'svc_version = 1\n\n[env]\nrequired = ["API_KEY"]\n' })
    await show(needy)
    const missing = page.getByRole('list', { name: 'Missing secrets' })
    await missing.getByText('API_KEY').waitFor(slow)
    await page.getByText('1 secret missing').waitFor()
    expect(await page.getByText(/Missing secrets?: |API_KEY is needed/).count()).toBe(0)
    await mergeButton().and(page.locator(':not([aria-disabled])')).waitFor(slow)
    await picture('secrets')

    const broken = await propose('broken', { 'svc.toml': 'svc_version = 1\n\n[[triggers]]\nslug = "x"\n' })
    await show(broken)
    await page.getByText('Needs attention: svc.toml is invalid in this change').waitFor(slow)
    await mergeButton().and(page.locator(':not([aria-disabled])')).waitFor(slow)
    const gate = await server.api(`/v1/projects/${project.project_id}`, {
      method: 'PATCH',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ settings: { manifest_gate: 'on' } }),
    })
    expect(gate.status).toBe(200)
    await page.reload()
    await page.getByText("Can't merge: svc.toml is invalid, and the project requires a valid one.").waitFor(slow)
    expect(await mergeButton().getAttribute('aria-disabled')).toBe('true')
    await badge('svc.toml invalid')
    await page.getByText('Problem: svc.toml is invalid in this change').waitFor()
    await picture('broken-manifest')
    // A phone quotes the row that refuses the merge, and not the collision before it.
    await page.setViewportSize({ width: 360, height: 800 })
    const quoted = panel().getByRole('list', { name: 'Checklist' }).getByRole('listitem').filter({ visible: true })
    await quoted.getByText('svc.toml is invalid in this change').waitFor(slow)
    expect(await quoted.count()).toBe(1)
    await page.setViewportSize({ width: 1280, height: 800 })
  },
  120_000,
)

test.skipIf(!browserPath)(
  'the merge box shows since when the host is unreachable, and recovers',
  async () => {
    const { page, server } = story
    const bare = join(server.dir, 'away.git')
    await git(clone, 'clone', '--quiet', '--bare', clone, bare)
    await git(bare, 'update-ref', 'refs/heads/main', 'refs/heads/broken~1')
    await git(bare, 'symbolic-ref', 'HEAD', 'refs/heads/main')
    await git(bare, 'config', 'http.receivepack', 'true')
    let isAway = false
    const host = await serveHttpBackend(bare, { before: () => (isAway ? 503 : undefined) })
    try {
      const away = await server.json<{ project_id: string; slug: string }>([
        ...['projects', 'create', '--repo', host.url, '--name', 'away'],
      ])
      await server.json(['cr', 'open', '--title', 'Far', '--head', 'broken', '--project', away.project_id])
      await page.goto(`${server.url}/projects/${away.slug}/change-requests/1`)
      await page.getByText('fast-forwards to').waitFor(slow)
      isAway = true
      await page.getByText("Can't reach the repository").waitFor(slow)
      await page.getByText('Last updated').waitFor()
      await page.getByText("Can't merge: the repository can't be reached.").waitFor()
      expect(await mergeButton().getAttribute('aria-disabled')).toBe('true')
      await badge('unreachable')
      await picture('unreachable')
      // Opened while it is away, the page shows what is stored, and the same words.
      await page.reload()
      await page.getByText("Can't reach the repository").waitFor(slow)
      expect(await mergeButton().getAttribute('aria-disabled')).toBe('true')
      isAway = false
      await page.getByRole('complementary', { name: 'Landing' }).getByRole('button', { name: 'Try again' }).click()
      await page.getByText('fast-forwards to').waitFor(slow)
    } finally {
      await host.close()
    }
    expect(story.complaints).toEqual([])
  },
  180_000,
)
