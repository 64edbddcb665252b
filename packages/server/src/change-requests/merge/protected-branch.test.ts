/** A base that its git host protects: detected, shown with the host's reason, and merged on the host. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { ChangeRequestDiff, HostPullRequest, Project } from '@svc/contract'
import { withheldText } from '@svc/git'
import { commit, type GitHubStandIn, makeRepo, serveGitHub, type TestRepository } from '@svc/git/testing'
import { makeTestApp, type TestApp } from '../../testing.ts'
import { followHostLandings } from './follow-host-landings.ts'
import { getHostLanding } from './host-landing-store.ts'
import { auditOfObject, gitText, type Refusal, type TestProject, testProject } from '../testing.ts'

setDefaultTimeout(120_000)

let app: TestApp
beforeAll(async () => {
  app = await makeTestApp()
}, 120_000)
afterAll(() => app.close())

const token = 'the-token-of-the-project'
const follow = () => followHostLandings(app.deps, new AbortController().signal, 0)
const pullRequest = async (at: TestProject, crId: string) =>
  (await app.request<HostPullRequest>('GET', at.path(crId, 'pull-request'))).body
const openPull = (at: TestProject, crId: string) =>
  app.request<HostPullRequest & Refusal>('POST', at.path(crId, 'pull-request'))

async function protect(repo: TestRepository, words: string): Promise<string> {
  const hook = join(repo.dir, 'hooks', 'pre-receive')
  await mkdir(dirname(hook), { recursive: true })
  const script = `#!/bin/sh\nwhile read old new ref; do\n  test "$ref" != refs/heads/main || { echo "${words}" >&2; exit 1; }\ndone\n`
  await writeFile(hook, script, { mode: 0o755 })
  return hook
}

describe('a protected branch on a GitHub-style host', () => {
  let repo: TestRepository
  let host: GitHubStandIn
  let at: TestProject
  const words = 'error: GH006: Protected branch update failed for refs/heads/main.'

  const create = async () => {
    const body = { repo_url: host.repoUrl, git_token: token }
    const { body: project } = await app.request<Project>('POST', '/v1/projects', { body })
    return testProject(app, { project, repo })
  }

  beforeAll(async () => {
    repo = await makeRepo({ main: { a: '1\n' } })
    host = await serveGitHub(repo.dir)
    host.tokens.set(token, 'both')
    app.deps.config.github.apis[host.host] = host.apiUrl
    at = await create()
    await protect(repo, words)
  })
  afterAll(async () => {
    await host.close()
    await repo.remove()
  })

  test("stores the host's refusal, and a squashed pull request merges the change", async () => {
    const cr = await at.open('work', { b: '2\n' }, { description: 'What and why.' })
    const other = await at.open('other', { c: '3\n' })
    expect(await pullRequest(at, cr.cr_id)).toEqual({ protection: null, can_open: false, pull_request: null })
    const refused = await at.refusedMerge(cr.cr_id)
    expect([refused.status, refused.body.code]).toEqual([409, 'branch_protected'])
    expect(refused.body).toMatchObject({ base_ref: 'main', can_open_pull_request: true })
    expect(refused.body.error).toContain(words)
    expect(refused.body.hint).toContain(`svc cr pull-request ${cr.number}`)
    for (const { cr_id } of [cr, other]) {
      const { protection, can_open } = await pullRequest(at, cr_id)
      expect(protection).toMatchObject({ branch: 'main', found_by: 'push' })
      expect([protection!.reason.includes(words), can_open]).toEqual([true, true])
    }

    const opened = await openPull(at, cr.cr_id)
    const again = await openPull(at, cr.cr_id)
    expect([opened.status, again.status, host.pulls.length]).toEqual([200, 200, 1])
    expect(again.body).toEqual(opened.body)
    expect(opened.body.pull_request).toMatchObject({ number: 1, url: host.pulls[0]!.html_url })
    expect(host.pulls[0]).toMatchObject({ title: cr.title, base: { ref: 'main' }, head: { ref: 'work' } })
    expect(host.pulls[0]!.body).toContain('What and why.')

    await follow()
    expect((await at.get(cr.cr_id)).status).toBe('open')
    const squashed = await commit(repo, 'main', { b: '2\n' })
    // The host's report alone merges nothing.
    Object.assign(host.pulls[0]!, {
      state: 'closed',
      merged_at: '2026-11-23T00:00:00Z',
      merge_commit_sha: cr.head_commit_sha,
    })
    await follow()
    expect((await at.get(cr.cr_id)).status).toBe('open')
    host.pulls[0]!.merge_commit_sha = squashed
    // The base does not have a commit that is pushed after the host merged.
    await commit(repo, 'work', { later: '1\n' })
    await follow()
    expect((await at.get(cr.cr_id)).status).toBe('open')
    await gitText(repo, 'update-ref', 'refs/heads/work', cr.head_commit_sha!)
    await follow()
    const merged = await at.get(cr.cr_id)
    expect(merged).toMatchObject({ status: 'merged', merge_commit_sha: squashed, merged_by: app.owner.user_id })
    const diff = await app.request<ChangeRequestDiff>('GET', at.path(cr.cr_id, 'diff'))
    expect(diff.body.files.map(({ path }) => path)).toEqual(['b'])
    const verified = await app.request('GET', at.path(cr.cr_id, 'verify'))
    expect(verified.body).toMatchObject({
      verified: false,
      reason: 'The git host made this merge by its own rules.',
    })
    expect((await auditOfObject(app, cr.cr_id)).map(({ action }) => action)).toContain('change_request.merge')
    expect((await at.get(other.cr_id)).status).toBe('open')
  })

  test('detects a rule on the branch when the project is created', async () => {
    host.rules.set('main', ['pull_request'])
    const made = await create()
    const cr = await made.open('ruled', { d: '4\n' })
    expect((await pullRequest(made, cr.cr_id)).protection).toMatchObject({
      found_by: 'api',
      reason: 'A rule of the git host requires a pull request for this branch.',
    })
  })

  test("an agent cannot open a pull request, and reads the host's reason", async () => {
    const cr = await at.open('agents', { e: '5\n' })
    const bound = await app.makeSession(at.project)
    const agent = await app.request<Refusal>('POST', at.path(cr.cr_id, 'pull-request'), { token: bound.token })
    expect([agent.status, agent.body.code]).toEqual([403, 'agent_merge_forbidden'])
    host.override = (request, response) => {
      if (request.method !== 'POST') return false
      response.writeHead(403, { 'content-type': 'application/json' })
      response.end(JSON.stringify({ message: 'Resource not accessible by personal access token' }))
      return true
    }
    const refused = await openPull(at, cr.cr_id)
    host.override = null
    expect([refused.status, refused.body.code]).toEqual([422, 'unprocessable'])
    expect(refused.body.error).toContain('Resource not accessible by personal access token')
  })
})

describe('a protected branch on a host without an API', () => {
  test("shows the message of the host's hook, and a merge on the host merges the change request", async () => {
    const { project, repo } = await app.externalProject()
    const at = testProject(app, { project, repo })
    const hook = await protect(repo, 'main takes no direct pushes')
    const cr = await at.open('work', { 'b.txt': '2\n' })
    const fresh = await at.open('fresh', { 'c.txt': '3\n' })
    const refused = await at.refusedMerge(cr.cr_id)
    expect([refused.status, refused.body.code]).toEqual([409, 'branch_protected'])
    expect(refused.body).toMatchObject({
      can_open_pull_request: false,
      reason: expect.stringContaining('no direct pushes') as string,
    })
    expect(refused.body.hint).toContain('Merge its head branch on the git host')
    expect((await openPull(at, cr.cr_id)).status).toBe(409)
    await follow()
    expect((await at.get(cr.cr_id)).status).toBe('open')
    await gitText(repo, 'update-ref', 'refs/heads/main', 'refs/heads/work')
    await follow()
    expect(await at.get(cr.cr_id)).toMatchObject({ status: 'merged', merge_commit_sha: await at.tip('work') })
    expect((await at.get(fresh.cr_id)).status).toBe('open')
    const diff = await app.request<ChangeRequestDiff>('GET', at.path(cr.cr_id, 'diff'))
    expect(diff.body.files.map(({ path }) => path)).toEqual(['b.txt'])

    // The host lifts the protection: the merge succeeds, and the branch counts as open.
    await rm(hook)
    expect((await at.merge(fresh.cr_id)).status).toBe(200)
    expect((await pullRequest(at, fresh.cr_id)).protection).toBeNull()
  })

  test('checks for a landing while a change request is open, never when closed, and at once when reopened', async () => {
    const { project, repo } = await app.externalProject()
    const at = testProject(app, { project, repo })
    await protect(repo, 'main takes no direct pushes')
    const cr = await at.open('work', { 'b.txt': '2\n' })
    await at.refusedMerge(cr.cr_id)
    const isScheduled = async () => (await getHostLanding(app.deps.db, cr.cr_id))?.next_check_at != null
    expect(await isScheduled()).toBeTrue()
    await app.request('POST', at.path(cr.cr_id, 'close'))
    expect(await isScheduled()).toBeFalse()
    await app.request('POST', at.path(cr.cr_id, 'reopen'))
    await gitText(repo, 'update-ref', 'refs/heads/main', 'refs/heads/work')
    // The checks of the job, which are due at once and then every fifteen seconds.
    const next = await followHostLandings(app.deps, new AbortController().signal)
    expect((await at.get(cr.cr_id)).status).toBe('merged')
    expect(await isScheduled()).toBeFalse()
    expect(next === null || next > 10_000).toBeTrue()
  })

  test('withholds a message that contains the credential', async () => {
    const repo = await makeRepo({ main: { a: '1\n' } })
    const host = await serveGitHub(repo.dir)
    host.tokens.set(token, 'both')
    const body = { repo_url: host.repoUrl, git_token: token }
    const { body: project } = await app.request<Project>('POST', '/v1/projects', { body })
    const at = testProject(app, { project, repo })
    await protect(repo, `${token} may not push`)
    const cr = await at.open('work', { b: '2\n' })
    const refused = await at.refusedMerge(cr.cr_id)
    const shown = await app.request('GET', at.path(cr.cr_id, 'pull-request'))
    expect(refused.body.reason).toBe(withheldText)
    expect(shown.text).toContain(withheldText)
    expect(refused.text + shown.text).not.toContain(token)
    await host.close()
    await repo.remove()
  })
})
