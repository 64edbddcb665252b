/** An open change request one of whose branches was deleted, at the HTTP entry: it says so everywhere, until the branch is back. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { ChangeRequest, ChangeRequestSummary, ErrorBody, Inbox, Project, ProjectEventPage } from '@svc/contract'
import type { Repository } from '@svc/git'
import { type HttpBackend, makeRepo, serveHttpBackend, type TestRepository } from '@svc/git/testing'
import { projectPath } from '../../test-app.ts'
import { makeTestApp, type TestApp } from '../../testing.ts'
import { gitText, testProject } from '../testing.ts'
import { pollExternal, pollRequested } from './detect.ts'
import { ManagedSweep } from './sweep-managed.ts'
import { computeWantedFacts } from './wanted.ts'

let app: TestApp
let external: TestRepository
let host: HttpBackend
const { signal } = new AbortController()

beforeAll(async () => {
  app = await makeTestApp()
  external = await makeRepo({ main: { 'a.txt': 'a\n' } })
  host = await serveHttpBackend(external.dir)
}, 120_000)
afterAll(async () => {
  await host.close()
  await external.remove()
  await app.close()
})

const deleteBranch = (repo: Repository, name: string) => gitText(repo, 'update-ref', '-d', `refs/heads/${name}`)
const restoreBranch = (repo: Repository, name: string, sha: string | null) =>
  gitText(repo, 'update-ref', `refs/heads/${name}`, sha!)

/** A list that has all facts of its change requests, and the inbox. */
async function statesOf(project: Project) {
  const list = async () =>
    (
      await app.request<{ change_requests: ChangeRequest[]; summaries: Record<string, ChangeRequestSummary> }>(
        'GET',
        `${projectPath(project, 'change-requests')}?include=summary&sort=ready`,
      )
    ).body
  await list()
  await computeWantedFacts(app.deps, signal)
  const { change_requests, summaries } = await list()
  const inbox = await app.request<Inbox>('GET', `/v1/inbox?project_id=${project.project_id}`)
  return {
    list: change_requests.map(({ cr_id, missing_ref }) => [summaries[cr_id]!.state, missing_ref]),
    inbox: inbox.body.items.map(({ group, state, why }) => [group, state, why]),
  }
}

async function eventsOf(project: Project) {
  const path = `${projectPath(project, 'events')}?after=0`
  return (await app.request<ProjectEventPage>('GET', path)).body.events.filter(
    ({ type }) => type === 'change_request.updated',
  )
}

test('a deleted head branch is the state of its change request, and a restored one heals it', async () => {
  const at = testProject(app, await app.managedProject({ 'a.txt': 'a\n' }))
  const cr = await at.open('work', { 'b.txt': 'b\n' })
  expect((await statesOf(at.project)).list).toEqual([['ready', null]])

  await deleteBranch(at.repo, 'work')
  expect(await statesOf(at.project)).toEqual({
    list: [['branch_deleted', 'work']],
    inbox: [['unblock', 'branch_deleted', 'Its branch was deleted']],
  })
  expect(await at.get(cr.cr_id)).toMatchObject({ missing_ref: 'work', head_commit_sha: cr.head_commit_sha })
  const refused = await at.refusedMerge(cr.cr_id)
  expect([refused.status, refused.body.code]).toEqual([409, 'ref_missing'])
  // Nothing is written again while it stays away, and the diff is readable.
  expect(await eventsOf(at.project)).toHaveLength(1)
  expect((await app.request('GET', at.path(cr.cr_id, 'diff'))).status).toBe(200)

  await restoreBranch(at.repo, 'work', cr.head_commit_sha)
  expect(await statesOf(at.project)).toEqual({
    list: [['ready', null]],
    inbox: [['review', 'ready', 'Touches b.txt · nothing collides']],
  })
  expect(await eventsOf(at.project)).toHaveLength(2)
  expect((await at.merge(cr.cr_id)).status).toBe(200)
})

test('a deleted base branch is the state, too', async () => {
  const at = testProject(app, await app.managedProject({ 'a.txt': 'a\n' }))
  await gitText(at.repo, 'branch', 'release', 'main')
  const cr = await at.open('work', { 'b.txt': 'b\n' }, { base_ref: 'release' })
  await deleteBranch(at.repo, 'release')
  expect(await statesOf(at.project)).toEqual({
    list: [['branch_deleted', 'release']],
    inbox: [['unblock', 'branch_deleted', 'release was deleted']],
  })
  await restoreBranch(at.repo, 'release', cr.base_commit_sha)
  expect((await statesOf(at.project)).list).toEqual([['ready', null]])
})

test('the polls and the sweep find it without a reader, in managed and external repositories', async () => {
  const managed = testProject(app, await app.managedProject({ 'a.txt': 'a\n' }))
  const made = await app.request<Project>('POST', '/v1/projects', { body: { repo_url: host.url } })
  const hosted = testProject(app, { project: made.body, repo: external })
  const storedOf = async ({ project }: typeof managed) =>
    (
      await app.deps.db
        .selectFrom('change_requests')
        .select('missing_ref')
        .where('project_id', '=', project.project_id)
        .execute()
    ).map(({ missing_ref }) => missing_ref)

  const cr = await managed.open('work', { 'b.txt': 'b\n' })
  await pollRequested(app.deps, signal)
  await deleteBranch(managed.repo, 'work')
  const sweep = new ManagedSweep(app.deps)
  for (let run = 0; run < 3; run++) await sweep.run(signal)
  expect(await storedOf(managed)).toEqual(['work'])
  await restoreBranch(managed.repo, 'work', cr.head_commit_sha)
  for (let run = 0; run < 3; run++) await sweep.run(signal)
  expect(await storedOf(managed)).toEqual([null])

  const other = await hosted.open('work', { 'b.txt': 'b\n' })
  await pollRequested(app.deps, signal)
  const poll = async () => {
    await app.deps.db
      .updateTable('project_looks')
      .set({ next_poll_at: new Date(0) })
      .where('project_id', '=', hosted.project.project_id)
      .execute()
    await pollExternal(app.deps, signal)
  }
  await deleteBranch(external, 'work')
  await poll()
  expect(await storedOf(hosted)).toEqual(['work'])
  await restoreBranch(external, 'work', other.head_commit_sha)
  await poll()
  expect(await storedOf(hosted)).toEqual([null])
})

test('a preview finds it, and a closed change request is not asked for its branch', async () => {
  const at = testProject(app, await app.managedProject({ 'a.txt': 'a\n' }))
  const cr = await at.open('work', { 'b.txt': 'b\n' })
  await deleteBranch(at.repo, 'work')
  expect((await app.request('GET', at.path(cr.cr_id, 'merge-preview'))).status).toBe(200)
  expect((await eventsOf(at.project)).length).toBe(1)
  expect((await app.request<ErrorBody>('POST', at.path(cr.cr_id, 'close'))).status).toBe(200)
  expect((await statesOf(at.project)).list).toEqual([[null, 'work']])
})
