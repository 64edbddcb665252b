/** Two windows of one person: what is done in one shows in the other, long before it would ask by itself. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdtemp } from 'node:fs/promises'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { browserPath, openBrowser } from './browser.ts'
import { git, makeFirstCommit, Server } from './harness.ts'

/** Well below the half minute after which a page asks by itself. */
const soon = { timeout: 20_000 }

let server: Server
let browser: Browser
let one: Page
let other: Page
let project: { project_id: string; slug: string }

beforeAll(async () => {
  if (!browserPath) return
  server = await Server.start({ SVC_SANDBOX_DRIVER: 'none' })
  project = await server.json(['projects', 'create', '--name', 'windows'])
  await makeFirstCommit(server, project.project_id)
  const url = new URL(`${server.url}/v1/projects/${project.project_id}/git`)
  url.username = 'x-access-token'
  url.password = server.token
  const clone = await mkdtemp(join(server.dir, 'clone-'))
  await git(clone, 'clone', '--quiet', url.href, '.')
  for (const branch of ['first', 'second']) {
    await git(clone, 'checkout', '--quiet', '-B', branch, 'origin/main')
    await Bun.write(join(clone, 'both.txt'), `${branch}\n`)
    await git(clone, 'add', '.')
    await git(clone, 'commit', '--quiet', '-m', branch)
    await git(clone, 'push', '--quiet', 'origin', branch)
  }
  browser = await openBrowser()
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 } })
  one = await context.newPage()
  await one.goto(/(http:\/\/\S+\/sign-in#\S+)/.exec(server.output)?.[1] ?? '')
  await one.getByRole('button', { name: 'Sign in' }).click()
  await one.getByRole('heading', { name: 'Inbox' }).waitFor()
  other = await context.newPage()
}, 180_000)

afterAll(async () => {
  await browser?.close()
  await server?.end()
}, 120_000)

const open = (title: string, head: string) =>
  server.json(['cr', 'open', '--title', title, '--head', head, '--project', project.project_id])

test.skipIf(!browserPath)(
  'change requests that are opened, merged or brought into conflict elsewhere appear without a reload',
  async () => {
    await other.goto(`${server.url}/projects/${project.slug}/change-requests`)
    await other.getByRole('heading', { name: 'Change requests' }).waitFor()
    await open('The first', 'first')
    await one.getByRole('link', { name: /The first/ }).waitFor(soon)
    await other.getByRole('link', { name: /The first/ }).waitFor(soon)
    await open('The second', 'second')
    await other.getByRole('link', { name: /The second/ }).click()
    await other.getByText('Merges cleanly').waitFor()

    await server.json(['cr', 'merge', '1', '--project', project.project_id])
    await other.getByText('This file conflicts').first().waitFor(soon)
    await one.getByRole('link', { name: /The first/ }).waitFor({ state: 'detached', ...soon })

    await server.json(['cr', 'close', '2', '--project', project.project_id])
    await one.getByRole('link', { name: /The second/ }).waitFor({ state: 'detached', ...soon })
    expect(await one.evaluate(() => window.scrollY)).toBe(0)
  },
  120_000,
)
