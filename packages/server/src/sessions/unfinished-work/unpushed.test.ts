/** Commits that are not pushed are counted by the branches of the repository as they are now, whoever pushed them. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Project, Session } from '@svc/contract'
import { commit, type TestRepository } from '@svc/git/testing'
import { makeSessionApp, type SessionApp, until } from '../testing.ts'
import { savedReply } from './testing-work-daemon.ts'
import { saveWip } from './wip.ts'

interface Work {
  files: number
  unpushed_commits: number
  saved_at: string | null
}

const history = 40
let app: SessionApp
let dir: string
let host: TestRepository
let project: Project
let session: Session
let clone: string
let daemon: ReturnType<typeof serveSandbox>

beforeAll(async () => {
  app = await makeSessionApp()
  dir = await mkdtemp(join(tmpdir(), 'svc-unpushed-'))
  ;({ project, repo: host } = await app.externalProject())
  for (let n = 0; n < history; n++) await commit(host, 'main', { 'log.txt': `${n}\n` })
  const path = `/v1/projects/${project.project_id}/sessions`
  const made = await app.request<Session>('POST', path, { body: {} })
  session = await until('the session runs', async () => {
    const { body } = await app.request<Session>('GET', `${path}/${made.body.session_id}`)
    return body.status === 'running' ? body : null
  })
  clone = join(dir, 'workspace')
  await gitIn(dir, 'clone', '--quiet', '--branch', session.branch_name, '--single-branch', host.dir, clone)
  daemon = serveSandbox(join(dir, 'd.sock'))
}, 180_000)
afterAll(async () => {
  await daemon?.stop(true)
  await app.close()
  await rm(dir, { recursive: true, force: true })
})

async function gitIn(cwd: string, ...args: string[]): Promise<string> {
  const env = { ...process.env, GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_SYSTEM: '/dev/null' }
  const who = ['-c', 'user.name=Agent', '-c', 'user.email=agent@svc.invalid']
  const child = Bun.spawn(['git', ...who, ...args], { cwd, env, stdout: 'pipe', stderr: 'pipe' })
  const [out, err] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()])
  if ((await child.exited) !== 0) throw new Error(`git ${args[0]}: ${err}`)
  return out.trim()
}

/** As `svc-agent save-work` does it in the clone of a sandbox, which has nothing but what it fetched itself. */
function serveSandbox(unix: string) {
  return Bun.serve({
    unix,
    async fetch(request) {
      const { pushed } = (await request.json()) as { pushed: string[] }
      const known: string[] = []
      for (const sha of pushed)
        if (
          await gitIn(clone, 'cat-file', '-e', `${sha}^{commit}`).then(
            () => true,
            () => false,
          )
        )
          known.push(sha)
      const base = await gitIn(clone, 'rev-parse', 'HEAD')
      await gitIn(clone, 'add', '--all')
      const tree = await gitIn(clone, 'write-tree')
      const files = (await gitIn(clone, 'diff', '--cached', '--name-only')).split('\n').filter(Boolean)
      const unpushed = Number(await gitIn(clone, 'rev-list', '--count', base, ...known.map((sha) => `^${sha}`)))
      const isClean = files.length === 0 && unpushed === 0
      const made = isClean ? null : await gitIn(clone, 'commit-tree', tree, '-p', base, '-m', 'work')
      const counts = { files: files.length, paths: files, unpushed, notes: [] }
      const state = isClean ? 'clean' : 'saved'
      return savedReply(clone, { state, commit: made, base, ...counts }, known)
    },
  })
}

const save = () => {
  const address = { socket: join(dir, 'd.sock'), sandboxKey: 'svc_sbx_x', generation: 1 }
  return saveWip(app.deps, { ...address, sessionId: session.session_id }, new AbortController().signal)
}
const shown = async (): Promise<Work> =>
  (await app.request<Work>('GET', `/v1/projects/${project.project_id}/sessions/${session.session_id}/wip`)).body
const listed = async (): Promise<Work[]> =>
  (await app.request<Work[]>('GET', `/v1/projects/${project.project_id}/unfinished-work`)).body
/** The server has seen the host's branches as they are. */
const seen = () => app.request('GET', `/v1/projects/${project.project_id}/commits?ref=${session.branch_name}`)

test('counts only the work of the sandbox after another caller pushed to the branch', async () => {
  await writeFile(join(clone, 'one.txt'), 'one\n')
  await gitIn(clone, 'add', '.')
  await gitIn(clone, 'commit', '--quiet', '-m', 'one')
  await gitIn(clone, 'push', '--quiet', host.dir, `HEAD:${session.branch_name}`)
  await commit(host, session.branch_name, { 'outside.txt': 'outside\n' })
  await commit(host, 'main', { 'log.txt': 'moved\n' })
  expect((await seen()).status).toBe(200)

  await writeFile(join(clone, 'dirty.txt'), 'dirty\n')
  expect((await save()).kind).toBe('saved')
  expect(await shown()).toMatchObject({ files: 1, unpushed_commits: 0 })

  await gitIn(clone, 'commit', '--quiet', '--all', '-m', 'two')
  expect((await save()).kind).toBe('saved')
  expect(await shown()).toMatchObject({ files: 0, unpushed_commits: 1 })
  expect(await listed()).toMatchObject([{ session_id: session.session_id, files: 0, unpushed_commits: 1 }])
})

test('no longer counts saved commits that another caller pushed later', async () => {
  await gitIn(clone, 'push', '--quiet', '--force', host.dir, `HEAD:${session.branch_name}`)
  expect(await shown()).toMatchObject({ saved_at: null, unpushed_commits: 0 })
  expect(await listed()).toEqual([])
  expect(await save()).toMatchObject({ kind: 'clean' })
})

test('counts a commit again that no branch has after a rewrite', async () => {
  const main = await gitIn(host.dir, 'rev-parse', 'main')
  await gitIn(host.dir, 'update-ref', `refs/heads/${session.branch_name}`, main)
  expect((await seen()).status).toBe(200)
  expect((await save()).kind).toBe('saved')
  expect(await shown()).toMatchObject({ files: 0, unpushed_commits: 2 })
})
