/**
 * Hosts that accept the merge and then fail to store it: out of space or memory, or with a helper that died. That is
 * no refusal.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { ChangeRequest, Project } from '@svc/contract'
import { commit, type HttpBackend, makeRepo, serveHttpBackend, type TestRepository } from '@svc/git/testing'
import { makeTestApp, type TestApp } from '../../testing.ts'
import { gitText, type TestProject, testProject } from '../testing.ts'

let app: TestApp
beforeAll(async () => {
  app = await makeTestApp()
}, 120_000)
afterAll(() => app.close())

/** A skip list that the host cannot read makes every pack end in git's own "unpacker error". */
const broken = { 'receive.fsckObjects': 'true', 'receive.fsck.skipList': '/nonexistent/list' }
const tooSmall = { 'receive.maxInputSize': '10' }

describe.each(['http', 'file'] as const)('merging into a repository over %s', (protocol) => {
  let repo: TestRepository
  let host: HttpBackend
  let at: TestProject
  let opened = 0
  /** How many more pushes find the host broken; then it works. */
  let pushesLeft = Number.POSITIVE_INFINITY
  let settings: Record<string, string> = {}

  beforeAll(async () => {
    repo = await makeRepo({ main: { 'README.md': 'hello\n' } })
    host = await serveHttpBackend(repo.dir, {
      async before({ method, url }) {
        if (method === 'POST' && url?.endsWith('/git-receive-pack') && pushesLeft-- <= 0) await restore()
      },
    })
    const repoUrl = protocol === 'http' ? host.url : `file://${repo.dir}`
    const { body: project } = await app.request<Project>('POST', '/v1/projects', { body: { repo_url: repoUrl } })
    at = testProject(app, { project, repo })
  }, 120_000)
  afterAll(async () => {
    await host.close()
    await repo.remove()
  })

  async function set(wanted: Record<string, string>): Promise<void> {
    settings = wanted
    for (const [key, value] of Object.entries(wanted)) await gitText(repo, 'config', key, value)
  }

  async function restore(): Promise<void> {
    for (const key of Object.keys(settings)) await gitText(repo, 'config', '--unset', key)
    settings = {}
  }

  async function openBeside(): Promise<ChangeRequest> {
    const cr = await at.open(`work-${++opened}`, { [`${opened}.txt`]: 'x\n' })
    await commit(repo, 'main', { [`main-${opened}.txt`]: 'x\n' })
    return cr
  }

  const statesOf = async (crId: string) =>
    (
      await app.deps.db
        .selectFrom('merge_attempts')
        .select(['state'])
        .where('cr_id', '=', crId)
        .orderBy('created_at')
        .execute()
    ).map((attempt) => attempt.state)

  test('says that the host cannot store objects, and the merge can be sent again', async () => {
    const cr = await openBeside()
    const base = await at.tip('main')
    await set(broken)
    const headers = { 'idempotency-key': `${protocol}-again` }
    const refused = await at.refusedMerge(cr.cr_id, { headers })
    expect([refused.status, refused.body.code]).toEqual([502, 'repository_unreachable'])
    expect(refused.body.error).toContain('could not store what was pushed')
    expect(refused.body.error).toContain('/nonexistent/list')
    expect(refused.body.hint).toContain('Try again')
    expect(await at.tip('main')).toBe(base)
    expect((await at.get(cr.cr_id)).status).toBe('open')
    expect(await statesOf(cr.cr_id)).toEqual(['abandoned', 'abandoned', 'abandoned'])
    await restore()
    const merged = await at.merge(cr.cr_id, { headers })
    expect(merged.status).toBe(200)
    expect(await at.tip('main')).toBe(merged.body.merge.merge_commit_sha)
  })

  test("reports the host's reason for refusing objects", async () => {
    const cr = await openBeside()
    await set(tooSmall)
    const refused = await at.refusedMerge(cr.cr_id)
    expect([refused.status, refused.body.code]).toEqual([409, 'merge_rejected'])
    expect(refused.body.error).toContain('exceeds maximum allowed size')
    await restore()
    expect((await at.merge(cr.cr_id)).status).toBe(200)
  })

  if (protocol === 'http')
    test('retries a short failure of the host without telling the caller', async () => {
      const cr = await openBeside()
      await set(broken)
      pushesLeft = 1
      expect((await at.merge(cr.cr_id)).status).toBe(200)
      expect(await statesOf(cr.cr_id)).toEqual(['abandoned', 'landed'])
    })
})
