/** A real listener before the app, and clones that a real git client makes through it. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Project } from '@svc/contract'
import { clientAt } from '@svc/git/testing-client'
import { buildApp } from '../app.ts'
import { Listener } from '../listen.ts'
import type { SessionApp } from '../sessions/testing.ts'

export interface GitDoor {
  port: number
  /** The folder of the clones. */
  home: string
  urlOf: (project: Pick<Project, 'project_id'>, token: string, username?: string) => string
  /** A clone with one commit more on a branch of its own. */
  workTree: (token: string, options?: { project?: Project; branch?: string }) => Promise<string>
  close: () => Promise<void>
}

export async function openGitDoor(app: SessionApp): Promise<GitDoor> {
  const listener = new Listener({ fromSandbox: false })
  const port = await listener.onPort('127.0.0.1', 0)
  const served = buildApp(app.deps)
  listener.answerWith((request, env) => served.fetch(request, env))
  const home = await mkdtemp(join(tmpdir(), 'svc-git-client-'))
  const urlOf: GitDoor['urlOf'] = ({ project_id }, token, username = 'x-access-token') =>
    `http://${username}:${token}@127.0.0.1:${port}/v1/projects/${project_id}/git`
  return {
    port,
    home,
    urlOf,
    async workTree(token, { project = app.project, branch } = {}) {
      const dir = await mkdtemp(join(home, 'clone-'))
      const cloned = await git(home, 'clone', urlOf(project, token), dir)
      if (!cloned.ok) throw new Error(cloned.said)
      if (branch !== undefined) await git(dir, 'checkout', '-B', branch, `origin/${branch}`)
      await commitIn(dir)
      return dir
    },
    async close() {
      await listener.close()
      await rm(home, { recursive: true, force: true })
    },
  }
}

interface Ran {
  ok: boolean
  said: string
}

export async function git(cwd: string, ...args: string[]): Promise<Ran> {
  const { code, out, err } = await clientAt(cwd).run(...args)
  return { ok: code === 0, said: `${out}\n${err}` }
}

let serial = 0
export async function commitIn(dir: string): Promise<string> {
  const name = `file-${++serial}.txt`
  await Bun.write(join(dir, name), `${name}\n`)
  await git(dir, 'add', '-A')
  const { ok, said } = await git(dir, 'commit', '-m', name)
  if (!ok) throw new Error(said)
  return (await git(dir, 'rev-parse', 'HEAD')).said.trim()
}
