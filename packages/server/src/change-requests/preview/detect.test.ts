import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import type { ChangeRequest, Project, ProjectEvent, ProjectEventPage } from '@svc/contract'
import { readTips, type Repository } from '@svc/git'
import { commit } from '@svc/git/testing'
import { sql } from 'kysely'
import { getDefaultBranch } from '../../projects/default-branch.ts'
import { projectPath } from '../../test-app.ts'
import { makeTestApp, type TestApp } from '../../testing.ts'
import { pollExternal, pollRequested } from './detect.ts'
import { ManagedSweep } from './sweep-managed.ts'

let app: TestApp
let project: Project
let repo: Repository
const { signal } = new AbortController()
beforeAll(async () => {
  app = await makeTestApp()
}, 120_000)
afterAll(() => app.close())
beforeEach(async () => {
  ;({ project, repo } = await app.managedProject({ 'a.txt': 'a\n' }))
  await pollRequested(app.deps, signal)
})

const tipOf = async (of: Repository, branch = 'main') => {
  const outcome = await readTips({ dir: of.dir, remote: null }, [branch])
  return outcome.kind === 'tips' ? outcome.tips.get(branch)! : ''
}
const knownSha = async (of = project) => (await getDefaultBranch(app.deps.db, of.project_id))?.sha
const eventTypes = async () => {
  const page = await app.request<ProjectEventPage>('GET', `${projectPath(project, 'events')}?after=0`)
  return page.body.events.map(({ type }: ProjectEvent) => type)
}
async function openChangeRequest(head: string, files: Record<string, string>): Promise<ChangeRequest> {
  await commit(repo, head, files, { from: 'main' })
  const body = { title: head, head_ref: head }
  return (await app.request<ChangeRequest>('POST', projectPath(project, 'change-requests'), { body })).body
}
const isRequested = async () => {
  const { rows } = await sql<{ yes: boolean }>`
    select wanted_at > looked_at as yes from project_looks where project_id = ${project.project_id}`.execute(
    app.deps.db,
  )
  return rows[0]?.yes
}

describe('polls of a managed repository', () => {
  test('polls once after creation, then only on request', async () => {
    expect(await knownSha()).toBe(await tipOf(repo))
    const sha = await commit(repo, 'main', { 'b.txt': 'b\n' })
    await pollRequested(app.deps, signal)
    await pollExternal(app.deps, signal)
    expect(await knownSha()).not.toBe(sha)
  })

  test('polls after a merge, which moves the default branch', async () => {
    const cr = await openChangeRequest('work', { 'b.txt': 'b\n' })
    await pollRequested(app.deps, signal)
    expect(await isRequested()).toBe(false)
    await app.request('POST', projectPath(project, 'change-requests', cr.cr_id, 'merge'), { body: {} })
    expect(await isRequested()).toBe(true)
    await pollRequested(app.deps, signal)
    expect(await knownSha()).toBe(await tipOf(repo))
    expect(await eventTypes()).toContain('default_branch.moved')
  })

  test('polls after a change request opens, and finds its conflict', async () => {
    await openChangeRequest('work', { 'a.txt': 'mine\n' })
    await commit(repo, 'main', { 'a.txt': 'theirs\n' })
    await pollRequested(app.deps, signal)
    expect(await eventTypes()).toContain('change_request.conflicted')
  })

  test('polls when the default branch changes in the settings', async () => {
    const sha = await commit(repo, 'next', { 'b.txt': 'b\n' }, { from: 'main' })
    await app.request('PATCH', `/v1/projects/${project.project_id}`, { body: { default_branch: 'next' } })
    await pollRequested(app.deps, signal)
    expect(await knownSha()).toBe(sha)
  })
})

describe('the sweep of managed repositories', () => {
  test('finds a default branch that moved without a request', async () => {
    const sha = await commit(repo, 'main', { 'b.txt': 'b\n' })
    const sweep = new ManagedSweep(app.deps)
    for (let run = 0; run < 3; run++) await sweep.run(signal)
    await pollRequested(app.deps, signal)
    expect(await knownSha()).toBe(sha)
  })

  test('finds a head that moved without a request', async () => {
    const cr = await openChangeRequest('work', { 'b.txt': 'b\n' })
    await pollRequested(app.deps, signal)
    const sha = await commit(repo, 'work', { 'c.txt': 'c\n' })
    const sweep = new ManagedSweep(app.deps)
    for (let run = 0; run < 3; run++) await sweep.run(signal)
    const { rows } = await sql<{ head_commit_sha: string }>`
      select head_commit_sha from change_requests where cr_id = ${cr.cr_id}`.execute(app.deps.db)
    expect(rows[0]?.head_commit_sha).toBe(sha)
    expect(await isRequested()).toBe(true)
  })

  test('requests nothing when nothing moved', async () => {
    await openChangeRequest('work', { 'b.txt': 'b\n' })
    await pollRequested(app.deps, signal)
    await pollRequested(app.deps, signal)
    const sweep = new ManagedSweep(app.deps)
    for (let run = 0; run < 3; run++) await sweep.run(signal)
    expect(await isRequested()).toBe(false)
  })
})

describe('polls of a repository on a git host', () => {
  test('polls at its time, unless the project is deleted', async () => {
    const { project: away, repo: host } = await app.externalProject({ 'a.txt': 'a\n' })
    const { project: deleted, repo: unread } = await app.externalProject({ 'a.txt': 'a\n' })
    await pollRequested(app.deps, signal)
    const before = await knownSha(deleted)
    await app.request('DELETE', `/v1/projects/${deleted.project_id}`)
    await commit(host, 'main', { 'b.txt': 'b\n' })
    await commit(unread, 'main', { 'b.txt': 'b\n' })
    await pollExternal(app.deps, signal)
    expect(await knownSha(away)).not.toBe(await tipOf(host))
    await sql`update project_looks set next_poll_at = now() - interval '1 second' where next_poll_at is not null`.execute(
      app.deps.db,
    )
    const nextMs = await pollExternal(app.deps, signal)
    expect(await knownSha(away)).toBe(await tipOf(host))
    expect(await knownSha(deleted)).toBe(before!)
    // All of them are due again later.
    expect(nextMs).toBeGreaterThan(0)
  })
})
