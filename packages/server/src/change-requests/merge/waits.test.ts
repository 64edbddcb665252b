import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Project } from '@svc/contract'
import { commit, type HttpBackend, makeRepo, serveHttpBackend, type TestRepository } from '@svc/git/testing'
import { makeTestApp, type TestApp } from '../../testing.ts'
import { gitText, testProject, type TestProject } from '../testing.ts'

/** A host that takes a push and does not answer: merges into the same base wait for it, but not for ever. */

let app: TestApp
let repo: TestRepository
let host: HttpBackend
let at: TestProject
/** Unset: the host answers. */
let gate: Promise<void> | null = null
let arrived: () => void = () => {}
/** Another client's action just before the host takes a push. */
let meddle: (() => Promise<unknown>) | null = null
/** Another client's action during any request to the host. */
let meanwhile: (() => Promise<unknown>) | null = null

beforeAll(async () => {
  app = await makeTestApp()
  repo = await makeRepo({ main: { a: '1\n' } })
  host = await serveHttpBackend(repo.dir, {
    before: async (request) => {
      await meanwhile?.()
      if (request.method !== 'POST' || !request.url!.includes('receive-pack')) return
      await meddle?.()
      if (gate === null) return
      arrived()
      await gate
    },
  })
  const made = await app.request<Project>('POST', '/v1/projects', { body: { repo_url: host.url } })
  at = testProject(app, { project: made.body, repo })
}, 120_000)
afterAll(async () => {
  await host.close()
  await app.close()
  await repo.remove()
})

test('asks the caller to retry behind a merge whose host hangs, and then merges once', async () => {
  const [first, second] = [await at.open('one', { one: '1\n' }), await at.open('two', { two: '2\n' })]
  const closed = await at.open('three', { three: '3\n' })
  await app.request('POST', at.path(closed.cr_id, 'close'))
  const before = await at.tip('main')
  const [held, pushed] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  gate = held.promise
  arrived = pushed.resolve
  const merging = at.merge(first.cr_id)
  await pushed.promise

  const patience = app.deps.config.mergeWaitMs
  app.deps.config.mergeWaitMs = 200
  const retry = { headers: { 'idempotency-key': 'once' } }
  const refused = await at.refusedMerge(second.cr_id, retry)
  const closing = await app.request<{ code: string }>('POST', at.path(first.cr_id, 'close'))
  for (const { status, body, headers } of [refused, closing])
    expect([status, body.code, headers.get('retry-after')]).toEqual([503, 'base_busy', '10'])
  // A change request that cannot merge anyway does not queue.
  expect((await at.refusedMerge(closed.cr_id)).body.code).toBe('not_open')
  expect((await at.get(second.cr_id)).status).toBe('open')
  expect(await at.tip('main')).toBe(before)
  app.deps.config.mergeWaitMs = patience

  gate = null
  held.resolve()
  expect((await merging).status).toBe(200)
  const merged = await at.merge(second.cr_id, retry)
  expect(merged.status).toBe(200)
  expect(await at.tip('main')).toBe(merged.body.merge.merge_commit_sha)
  expect((await at.merge(second.cr_id, retry)).body).toEqual(merged.body)
  expect(await gitText(repo, 'rev-list', '--count', '--merges', 'main')).toBe('1')
  expect((await gitText(repo, 'ls-tree', '--name-only', 'main')).split('\n')).toEqual(['a', 'one', 'two'])
})

test('retries a merge that outside pushes overtake until its time is over', async () => {
  const cr = await at.open('four', { four: '4\n' })
  let pushes = 0
  meddle = () => commit(repo, 'main', { [`other-${++pushes}`]: 'x\n' })
  const { mergeTriesMs } = app.deps.config
  app.deps.config.mergeTriesMs = 0
  const refused = await at.refusedMerge(cr.cr_id)
  app.deps.config.mergeTriesMs = mergeTriesMs
  expect([refused.status, refused.body.code, refused.body.base_ref, pushes]).toEqual([409, 'base_moved', 'main', 1])
  expect((await at.get(cr.cr_id)).status).toBe('open')
  const attempts = await app.deps.db
    .selectFrom('merge_attempts')
    .select(['state', 'reason'])
    .where('cr_id', '=', cr.cr_id)
    .execute()
  expect(attempts).toEqual([{ state: 'abandoned', reason: 'Another push moved the base.' }])

  app.deps.config.mergeTriesMs = 600_000
  meddle = async () => {
    if (pushes === 8) meddle = null
    await commit(repo, 'main', { [`other-${++pushes}`]: 'x\n' })
  }
  const merged = await at.merge(cr.cr_id)
  app.deps.config.mergeTriesMs = mergeTriesMs
  expect([merged.status, pushes]).toEqual([200, 9])
  expect(merged.body.merge.base_sha_before).toBe(await gitText(repo, 'rev-parse', 'main^1'))
  expect(await gitText(repo, 'ls-tree', '--name-only', 'main')).toContain('other-9')
})

test('refuses a merge whose change request was closed after the lock was lost', async () => {
  const cr = await at.open('five', { five: '5\n' })
  const before = await at.tip('main')
  meanwhile = async () => {
    meanwhile = null
    const closed = { status: 'closed', closed_at: new Date() } as const
    await app.deps.db.updateTable('change_requests').set(closed).where('cr_id', '=', cr.cr_id).execute()
  }
  const refused = await at.refusedMerge(cr.cr_id)
  expect([refused.status, refused.body.code, refused.body.status]).toEqual([409, 'not_open', 'closed'])
  expect(await at.tip('main')).toBe(before)
})
