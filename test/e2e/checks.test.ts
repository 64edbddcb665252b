/** Checks of change requests in real sandboxes: by the client and in the merge box, hostile ones, and over the death of the server. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdtemp, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { browserPath } from './browser.ts'
import { git, until } from './harness.ts'
import { beginPageStory, gatewayOf, type PageStory, pictures } from './page-story.ts'

const minute = 60_000
const slow = { timeout: minute }

interface Checks {
  state: string
  tree_sha: string
  checks: { name: string; command: string; status: string; exit_code: number | null; reason: string | null }[]
  logs?: { check: { name: string }; lines: { text: string }[]; truncated: boolean }[]
}

const manifest = '[[checks]]\nname = "script"\ncommand = "bash check.sh"\n'

let story: PageStory
let clone: string
let project: { project_id: string; slug: string }

beforeAll(async () => {
  if (!browserPath) return
  story = await beginPageStory()
  const { server } = story
  project = await server.json(['projects', 'create', '--name', 'checked'])
  await server.json(['secrets', 'set', 'KEY=canary-of-the-project', '--project', project.project_id])
  clone = await mkdtemp(join(server.dir, 'clone-'))
  await git(clone, 'init', '--quiet', '--initial-branch=main')
  await git(clone, 'remote', 'add', 'origin', gatewayOf(server, project))
  await commit({
    'svc.toml': manifest,
    'check.sh': 'seq 1 60; grep -q good state.txt && echo all is well || { echo the state is bad; exit 1; }\n',
    'state.txt': 'good\n',
  })
  await git(clone, 'push', '--quiet', 'origin', 'main')
}, 4 * minute)
afterAll(() => story?.end(), minute)

async function commit(files: Record<string, string>): Promise<void> {
  for (const [path, text] of Object.entries(files)) await Bun.write(join(clone, path), text)
  await git(clone, 'add', '.')
  await git(clone, 'commit', '--quiet', '-m', Object.keys(files).join(', '))
}

async function propose(branch: string, files: Record<string, string>): Promise<string> {
  await git(clone, 'fetch', '--quiet', 'origin')
  await git(clone, 'checkout', '--quiet', '-B', branch, 'origin/main')
  await commit(files)
  await git(clone, 'push', '--quiet', 'origin', branch)
  const cr = await story.server.json<{ number: number }>([
    ...['cr', 'open', '--title', branch, '--head', branch, '--project', project.project_id],
  ])
  return String(cr.number)
}

/** As the client prints it; it may have failed, which is its exit code. */
async function checks(number: string, ...flags: string[]): Promise<Checks & { code: number }> {
  const { stdout, code } = await story.server.svc([
    'cr',
    'checks',
    number,
    ...flags,
    '--json',
    '--project',
    project.project_id,
  ])
  return { ...(JSON.parse(stdout) as Checks), code: code ?? -1 }
}

const said = (found: Checks) => (found.logs?.[0]?.lines ?? []).map(({ text }) => text).join('\n')

test.skipIf(!browserPath)(
  'the merge box shows check results and logs, and asks before it merges with a failed check',
  async () => {
    const { page, server } = story
    const number = await propose('bad', {
      'state.txt': 'bad\n',
      'svc.toml': '[[checks]]\nname = "script"\ncommand = "true"\n',
    })
    // Not the files: axe reads the styles of the diff viewer with a style element of its own, which the page's policy blocks.
    await page.goto(`${server.url}/projects/${project.slug}/change-requests/${number}?tab=conversation`)
    await page.getByText('Checks failed: script').waitFor(slow)
    await page
      .getByRole('list', { name: 'Checklist' })
      .getByText('Needs attention: Changes a check', { exact: true })
      .waitFor(slow)
    await page.getByText('failed', { exact: true }).click()
    const log = page.getByLabel('Log of script')
    await log.getByText('$ bash check.sh').waitFor(slow)
    // It opens at its end, which says why.
    const beyond = () =>
      log.evaluate((pane) => [pane.scrollTop, pane.scrollHeight - pane.clientHeight - pane.scrollTop])
    const [above, below] = await beyond()
    expect([above! > 0, below! <= 1]).toEqual([true, true])
    await page.evaluate(await readFile(require.resolve('axe-core/axe.min.js'), 'utf8'))
    expect(await page.evaluate('axe.run().then(({ violations }) => violations.map(({ id }) => id))')).toEqual([])
    await page.screenshot({ path: join(pictures, 'merge-box-checks-failed-1280.png'), fullPage: true })

    const found = await checks(number, '--log')
    expect([found.code, found.state, found.checks[0]?.exit_code]).toEqual([1, 'failed', 1])

    // Mended by a push: the page hears of it by itself.
    await commit({ 'state.txt': 'good again\n' })
    await git(clone, 'push', '--quiet', 'origin', 'bad')
    await page.getByText('The check passed.').waitFor(slow)
    expect(await checks(number, '--log').then((now) => [now.code, said(now)])).toEqual([
      0,
      expect.stringContaining('all is well'),
    ])

    await commit({ 'state.txt': 'bad\n', 'svc.toml': manifest })
    await git(clone, 'push', '--quiet', 'origin', 'bad')
    await page.getByText('Checks failed: script').waitFor(slow)
    await page.getByRole('button', { name: 'Merge into main' }).click()
    await page.getByRole('alertdialog').getByText('Checks failed: script').waitFor(slow)
    await page.screenshot({ path: join(pictures, 'merge-box-checks-asks-1280.png') })
    await page.getByRole('button', { name: 'Cancel' }).click()
    expect(
      (
        await server.json<{ change_request: { status: string } }>([
          'cr',
          'show',
          number,
          '--project',
          project.project_id,
        ])
      ).change_request.status,
    ).toBe('open')
    await page.getByRole('button', { name: 'Merge into main' }).click()
    await page.getByRole('button', { name: 'Merge anyway' }).click()
    await page.getByText(/ merged this into main as/).waitFor(slow)
    expect(story.complaints).toEqual([])
  },
  4 * minute,
)

const hostile = `
env
for port in "$1" 61080 61081 8000; do
  (exec 3<>/dev/tcp/127.0.0.1/$port) 2>/dev/null && echo REACHED $port
done
curl -s --max-time 2 --unix-socket /run/svc/daemon.sock -X POST http://sandbox/svc/app/watch -d '{}' | head -c 300
ls -a /run/svc /workspace
yes flood | head -c 20000000
bomb() { bomb | bomb & }
bomb
sleep 1
`

test.skipIf(!browserPath)(
  'a hostile check reaches nothing, floods nothing and leaves nothing behind',
  async () => {
    const { server } = story
    const port = new URL(server.url).port
    const number = await propose('hostile', { 'check.sh': hostile.replaceAll('"$1"', port) })
    const found = await checks(number, '--wait', '--log', '--lines', '5000')
    // The limits of the sandbox ended the check in one way or another, and the page says so.
    expect(['passed', 'failed']).toContain(found.state)
    const text = said(found)
    expect(text).toContain('flood')
    expect(text).not.toContain('canary-of-the-project')
    expect(text).not.toContain('svc_pat_')
    expect(text).not.toContain('REACHED ' + port)
    expect(text).not.toContain('REACHED 61080')
    expect(text.length).toBeLessThan(1024 * 1024)
    expect(found.logs?.[0]?.truncated).toBe(true)
    await until('nothing of it runs', async () => {
      const left = Bun.spawnSync(['pgrep', '-f', `${server.dir}.*check-`])
        .stdout.toString()
        .trim()
      return left === '' ? true : null
    })
    expect((await server.api('/v1/health')).status).toBe(200)
  },
  4 * minute,
)

test.skipIf(!browserPath)(
  'another server reruns the check of a killed server, and closing a change request ends its check',
  async () => {
    const { server } = story
    const number = await propose('long', { 'check.sh': 'echo begun; sleep 600\n' })
    const begun = async () => {
      const found = await checks(number, '--log')
      return said(found).includes('begun') ? found : null
    }
    await until('it runs', begun)
    await server.kill('SIGKILL')
    await server.boot()
    await until('it is run once more', async () => {
      const found = await checks(number, '--log')
      return said(found).includes('restarted because the server that ran it stopped') && found.state === 'running'
        ? found
        : null
    })
    await server.json(['cr', 'close', number, '--project', project.project_id])
    await until('it is ended', async () => {
      const found = await checks(number)
      return found.checks[0]?.status === 'cancelled' ? found : null
    })
  },
  4 * minute,
)
