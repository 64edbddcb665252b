/** The page of a change request on a server that was restored and is not resumed: it says so, refuses to merge, and goes on by itself. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdtemp } from 'node:fs/promises'
import { join } from 'node:path'
import { browserPath } from './browser.ts'
import { git, makeFirstCommit, program, run, until } from './harness.ts'
import { withDatabase } from './large-fixtures.ts'
import { beginPageStory, expectItLooksRight, gatewayOf, type PageStory } from './page-story.ts'

setDefaultTimeout(180_000)
const slow = { timeout: 60_000 }

let story: PageStory
let project: { project_id: string; slug: string }

beforeAll(async () => {
  if (!browserPath) return
  story = await beginPageStory({ SVC_SANDBOX_DRIVER: 'none' }, { viewport: { width: 1440, height: 900 } })
  const { server } = story
  project = await server.json(['projects', 'create', '--name', 'payments'])
  await makeFirstCommit(server, project.project_id)
  const clone = await mkdtemp(join(server.dir, 'clone-'))
  await git(clone, 'clone', '--quiet', gatewayOf(server, project), '.')
  await git(clone, 'checkout', '--quiet', '-b', 'retry')
  await Bun.write(join(clone, 'src/wait.ts'), 'export const wait = 500\n')
  await git(clone, 'add', '.')
  await git(clone, 'commit', '--quiet', '-m', 'Wait')
  await git(clone, 'push', '--quiet', 'origin', 'retry')
  await server.json(['cr', 'open', '--title', 'Retry deliveries', '--head', 'retry', '--project', project.project_id])
  await holdServer()
})
afterAll(() => story?.end(), 120_000)

/** As a restore does. */
async function holdServer(): Promise<void> {
  const { server } = story
  const backup = `values (true, 'b', now() - interval '2 hours', now())`
  const insert = `insert into held (singleton, backup_id, backup_created_at, held_at) ${backup}`
  await withDatabase(server, (client) => client.query(insert))
  await server.kill('SIGTERM')
  await server.boot()
}

test.skipIf(!browserPath)(
  'a held server disables what it refuses, asks nothing in a hurry, and is noticed when it is resumed',
  async () => {
    const { page, server, complaints } = story
    const requests: string[] = []
    page.on('request', (request) => requests.push(`${request.method()} ${new URL(request.url()).pathname}`))
    await page.goto(`${server.url}/projects/${project.slug}/change-requests/1`)
    await page.getByText('This server was restored and is read-only', { exact: true }).waitFor(slow)
    await page.getByText('0 of 1 file viewed').waitFor(slow)
    await page.getByText(/^Can't merge: this server was restored .* svc self-host resume\.$/).waitFor(slow)
    const merge = page.getByRole('button', { name: 'Merge into main' })
    expect(await merge.getAttribute('aria-disabled')).toBe('true')
    const asked = (path: RegExp) => requests.filter((each) => path.test(each)).length
    await until('the page to look whether it is resumed', () => asked(/^GET \/v1\/accounts\/me$/) >= 2)
    expect(requests.filter((each) => !each.startsWith('GET '))).toEqual([])
    expect(asked(/^GET .*\/change-requests$/)).toBeLessThan(5)
    await page.setViewportSize({ width: 360, height: 800 })
    // A phone shows why it cannot merge, without the green rows.
    const rows = page.getByRole('complementary', { name: 'Landing' }).getByRole('listitem')
    await page.getByRole('button', { name: 'Show details' }).waitFor(slow)
    expect(await rows.filter({ visible: true }).count()).toBe(0)
    await page
      .getByText(/^Can't merge: this server was restored/)
      .filter({ visible: true })
      .waitFor()
    await expectItLooksRight(story, 'cr-held')

    const resumed = await run([program, 'self-host', 'resume'], { env: server.env, cwd: server.dir })
    expect([resumed.code, resumed.stdout]).toEqual([0, expect.stringContaining('✓ Resumed')])
    await page
      .getByText('This server was restored and is read-only', { exact: true })
      .waitFor({ ...slow, state: 'detached' })
    await merge.click()
    await page.getByText(/ merged this into main as/).waitFor(slow)
    expect(complaints).toEqual([])
  },
)
