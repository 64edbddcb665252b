/** A server with a repository and a signed-in browser, as a person uses them. */
import { mkdtemp } from 'node:fs/promises'
import { join } from 'node:path'
import type { CDPSession } from 'playwright-core'
import { gatewayOf, git, type Server } from '../../test/e2e/harness.ts'
import { beginPageStory, type PageStory } from '../../test/e2e/page-story.ts'
import { probeScript } from './probe.ts'

export interface Project {
  project_id: string
  slug: string
}

export interface World extends PageStory {
  /** Speaks the browser's own protocol. */
  whole: CDPSession
}

export async function makeWorld(): Promise<World> {
  const story = await beginPageStory()
  await story.page.context().addInitScript(probeScript)
  return { ...story, whole: await story.browser.newBrowserCDPSession() }
}

/** Creates a managed project with these files on its default branch, and returns a clone to work in. */
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

/** null deletes the file. */
export type Files = Record<string, string | null>

async function write(clone: string, files: Files): Promise<void> {
  for (const [path, text] of Object.entries(files))
    if (text === null) await git(clone, 'rm', '--quiet', path)
    else await Bun.write(join(clone, path), text)
}

/** Creates a branch with these changes and a change request for it, and returns its number. */
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
    ...['cr', 'open', '--title', branch, '--head', branch, '--project', project.project_id],
  ])
  return opened.number
}
