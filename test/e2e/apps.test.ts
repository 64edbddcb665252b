/** An app in a real browser: redeployed by a merge, kept by a broken deploy, and brought back when its sandbox or its server is killed. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdir, mkdtemp, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { browserPath, openBrowser } from './browser.ts'
import { git, Server, until } from './harness.ts'

const minute = 60_000
/** Where the pictures go, to be looked at. */
const pictures = join(import.meta.dir, '../../dist/screens')
const program = (words: string) => `
Bun.serve({ port: Number(process.env.PORT), hostname: '127.0.0.1',
  fetch(request, server) {
    const { pathname } = new URL(request.url)
    if (pathname === '/ws') return server.upgrade(request) ? undefined : new Response('no', { status: 400 })
    if (pathname === '/env') return Response.json(process.env)
    return new Response('<!doctype html><title>app</title><h1>${words}</h1>', { headers: { 'content-type': 'text/html' } })
  },
  websocket: { message: (ws, text) => ws.send('echo ' + text) },
})
`
const manifest = (build: string) => `[[apps]]
slug = "site"
build = "${build}"
command = "BUN_BE_BUN=1 exec svc server.mjs"
[apps.env]
GREETING = "hello \${NAME_OF_IT}"
`

interface App {
  state: string
  url: string
  reason: string | null
  live: { number: number; commit_sha: string } | null
  deploys: { number: number; status: string; error: string | null }[]
}

let server: Server
let browser: Browser
let project: string
let seed: string

beforeAll(async () => {
  if (!browserPath) return
  server = await Server.start()
  browser = await openBrowser()
  project = (await server.json<{ project_id: string }>(['projects', 'create', '--name', 'apps'])).project_id
  await server.json(['secrets', 'set', 'NAME_OF_IT=canary-of-the-app', '--project', project])
  await server.json(['secrets', 'set', 'ANOTHER=canary-of-others', '--project', project])
  seed = await mkdtemp(join(server.dir, 'seed-'))
  await git(seed, 'init', '--quiet', '--initial-branch=main')
  await push('main', { 'svc.toml': manifest('cp program.mjs server.mjs'), 'program.mjs': program('version one') })
}, 4 * minute)
afterAll(async () => {
  await browser?.close()
  await server?.end()
}, minute)

async function push(branch: string, files: Record<string, string>): Promise<void> {
  for (const [path, text] of Object.entries(files)) await Bun.write(join(seed, path), text)
  await git(seed, 'add', '.')
  await git(seed, 'commit', '--quiet', '-m', branch)
  const url = new URL(`${server.url}/v1/projects/${project}/git`)
  url.username = 'x-access-token'
  url.password = server.token
  await git(seed, 'push', '--quiet', url.href, `HEAD:refs/heads/${branch}`)
}

/** On a branch, by a change request that a person merges. */
async function merge(branch: string, files: Record<string, string>): Promise<void> {
  await push(branch, files)
  const cr = await server.json<{ number: number }>([
    ...['cr', 'open', '--title', branch, '--head', branch, '--project', project],
  ])
  await server.json(['cr', 'merge', String(cr.number), '--project', project])
}

const show = () => server.json<App>(['apps', 'show', 'site', '--project', project])
const becomes = (what: string, fits: (app: App) => boolean) =>
  until(`the app ${what}`, async () => {
    const app = await show()
    return fits(app) ? app : null
  })
const runs = (number: number) => (app: App) => app.state === 'running' && app.live?.number === number

async function heading(page: Page, words: string): Promise<void> {
  await until(`the page says ${words}`, async () => {
    await page.reload()
    return (await page.locator('h1').first().textContent()) === words
  })
}

test.skipIf(!browserPath)(
  'an app is deployed, redeployed by a merge, kept by a broken one, rolled back and stopped, and survives kills',
  async () => {
    const app = await becomes('runs', runs(1))
    const context = await browser.newContext()
    const page = await context.newPage()

    // A user who is signed in to the dashboard opens the plain URL and reaches the requested path.
    const owner = await server.json<{ url: string }>(['self-host', 'owner-link'])
    await page.goto(owner.url)
    await page
      .getByRole('button', { name: /sign in/i })
      .first()
      .click()
    // Signed in and led on: another way out of this page before that would be cut off by it.
    await page.getByRole('heading', { name: 'Inbox' }).waitFor()
    await page.goto(`${app.url}/some/page?a=b`)
    await page.getByRole('heading', { name: 'version one' }).waitFor()
    expect(page.url()).toBe(`${app.url}/some/page?a=b`)
    const env = (await page.evaluate(`fetch('/env').then((r) => r.json())`)) as Record<string, string>
    expect(env.GREETING).toBe('hello canary-of-the-app')
    expect(JSON.stringify(env)).not.toContain('canary-of-others')
    expect(
      Object.keys(env)
        .filter((name) => name.startsWith('SVC_'))
        .sort(),
    ).toEqual(['SVC_APP', 'SVC_COMMIT'])
    const echo = `new Promise((done) => { const ws = new WebSocket('ws://' + location.host + '/ws'); ws.onopen = () => ws.send('hi'); ws.onmessage = (m) => done(m.data) })`
    expect(await page.evaluate(echo)).toBe('echo hi')

    await merge('second', { 'program.mjs': program('version two') })
    await becomes('runs the second', runs(2))
    await heading(page, 'version two')

    await merge('broken', { 'svc.toml': manifest('echo no such module; exit 3') })
    const kept = await becomes('tells that the third failed', ({ deploys }) => deploys[0]?.status === 'failed')
    expect(kept).toMatchObject({ state: 'running', live: { number: 2 } })
    expect(kept.reason).toContain('The build ended with exit code 3. Its last lines: no such module')
    await heading(page, 'version two')

    const rolled = await server.svc(['apps', 'rollback', 'site', '--wait', '--project', project])
    expect(rolled.code).toBe(0)
    await heading(page, 'version one')

    // A person sees all of it, and stops it.
    await page.goto(`${server.url}/projects/${project}/apps`)
    await page.getByText('rollback to #1', { exact: true }).waitFor()
    await page.getByText('live', { exact: true }).waitFor()
    expect(await page.getByText('running', { exact: true }).count()).toBe(1)
    await page.getByText(/^Log of/).click()
    await page.evaluate(await readFile(require.resolve('axe-core/axe.min.js'), 'utf8'))
    const broken = await page.evaluate('axe.run().then(({ violations }) => violations.map(({ id }) => id))')
    expect(broken).toEqual([])
    await mkdir(pictures, { recursive: true })
    await page.screenshot({ path: join(pictures, 'apps-deployed.png'), fullPage: true })
    await page.getByRole('button', { name: 'Stop' }).click()
    await becomes('is stopped', ({ state }) => state === 'stopped')
    await server.kill('SIGKILL')
    await server.boot()
    expect((await show()).state).toBe('stopped')

    await merge('mended', { 'svc.toml': manifest('cp program.mjs server.mjs') })
    await server.svc(['apps', 'deploy', 'site', '--wait', '--project', project])
    await page.goto(app.url)
    await heading(page, 'version two')

    // Brought back by the next server.
    await server.kill('SIGKILL')
    await server.boot()
    const back = await becomes('runs again', ({ state }) => state === 'running')
    expect(back.url).toBe(app.url)
    await heading(page, 'version two')
  },
  10 * minute,
)
