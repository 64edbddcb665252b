/** A server with its repository and a signed-in browser, as a person has them in front of them. */
import { mkdtemp } from 'node:fs/promises'
import { join } from 'node:path'
import type { Browser, BrowserContext, CDPSession, Page } from 'playwright-core'
import { openBrowser } from '../../test/e2e/browser.ts'
import { git, Server } from '../../test/e2e/harness.ts'
import { gatewayOf } from '../../test/e2e/page-story.ts'
import { probeScript } from './probe.ts'

export interface Project {
  project_id: string
  slug: string
}

export interface World {
  server: Server
  browser: Browser
  context: BrowserContext
  /** Speaks with the browser itself. */
  whole: CDPSession
  page: Page
  end(): Promise<void>
}

export async function makeWorld(): Promise<World> {
  const server = await Server.start()
  const browser = await openBrowser()
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 } })
  await context.addInitScript(probeScript)
  const page = await context.newPage()
  await page.goto(/(http:\/\/\S+\/sign-in#\S+)/.exec(server.output)?.[1] ?? '')
  await page.getByRole('button', { name: 'Sign in' }).click()
  // The page one comes to next has a heading, and so has this one.
  await page.waitForURL(`${server.url}/`)
  return {
    server,
    browser,
    context,
    whole: await browser.newBrowserCDPSession(),
    page,
    async end() {
      await browser.close()
      await server.end()
    },
  }
}

/** A managed project with these files on its default branch; answers with a clone to work in as well. */
export async function makeProject(
  server: Server,
  name: string,
  files: Files,
): Promise<{ project: Project; clone: string }> {
  const project = await server.json<Project>(['projects', 'create', '--name', name])
  const clone = await mkdtemp(join(server.dir, 'clone-'))
  await git(clone, 'init', '--quiet', '--initial-branch=main')
  await write(clone, files)
  await git(clone, 'add', '--all')
  await git(clone, 'commit', '--quiet', '-m', 'start')
  await git(clone, 'remote', 'add', 'origin', gatewayOf(server, project))
  await git(clone, 'push', '--quiet', 'origin', 'main')
  return { project, clone }
}

/** null: the file goes. */
export type Files = Record<string, string | null>

async function write(clone: string, files: Files): Promise<void> {
  for (const [path, text] of Object.entries(files))
    if (text === null) await git(clone, 'rm', '--quiet', path)
    else await Bun.write(join(clone, path), text)
}

/** A branch with these changes and a change request for it; answers with its number. */
export async function openChange(
  { server, project, clone }: { server: Server; project: Project; clone: string },
  branch: string,
  files: Files,
): Promise<number> {
  await git(clone, 'checkout', '--quiet', '-B', branch, 'main')
  await write(clone, files)
  await git(clone, 'add', '--all')
  await git(clone, 'commit', '--quiet', '-m', branch)
  await git(clone, 'push', '--quiet', 'origin', branch)
  const opened = await server.json<{ number: number }>([
    'cr',
    'open',
    '--title',
    branch,
    '--head',
    branch,
    '--project',
    project.project_id,
  ])
  return opened.number
}
