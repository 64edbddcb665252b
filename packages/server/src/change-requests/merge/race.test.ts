import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { commit } from '@svc/git/testing'
import { makeTestApp, type TestApp } from '../../testing.ts'
import { auditOfObject, gitText, type MergeReply, type TestProject, testProject } from '../testing.ts'

let app: TestApp
let other: Awaited<ReturnType<TestApp['anotherServer']>>
beforeAll(async () => {
  app = await makeTestApp()
  other = await app.anotherServer()
}, 120_000)
afterAll(() => app.close())

const makeProject = {
  managed: async () => testProject(app, await app.managedProject()),
  external: async () => testProject(app, await app.externalProject()),
}

async function isOnMain(at: TestProject, sha: string): Promise<boolean> {
  return (await gitText(at.repo, 'branch', '--contains', sha, '--format=%(refname)'))
    .split('\n')
    .includes('refs/heads/main')
}

/** Pushes to main past the server, and again after each merge; returns the pushes that main accepted. */
async function pushBetween(at: TestProject, isOver: () => boolean): Promise<string[]> {
  const pushes: string[] = []
  while (!isOver()) {
    const tip = await at.tip('main')
    if (tip === pushes.at(-1)) continue
    // A commit without a change: the fewer programs a push takes, the more often it gets between two merges.
    const sha = await gitText(at.repo, 'commit-tree', `${tip}^{tree}`, '-p', tip, '-m', crypto.randomUUID())
    const isPushed = await gitText(at.repo, 'update-ref', 'refs/heads/main', sha, tip).then(
      () => true,
      () => false,
    )
    if (isPushed) pushes.push(sha)
  }
  return pushes
}

/** Pushes to main past the server, every 20 ms at most; returns how often. */
async function pushOn(at: TestProject, isOver: () => boolean): Promise<number> {
  let pushes = 0
  while (!isOver()) {
    const tip = await at.tip('main')
    const sha = await gitText(at.repo, 'commit-tree', `${tip}^{tree}`, '-p', tip, '-m', crypto.randomUUID())
    await gitText(at.repo, 'update-ref', 'refs/heads/main', sha, tip).then(
      () => pushes++,
      () => {},
    )
    await Bun.sleep(20)
  }
  return pushes
}

test('merges despite an outside pusher that never stops', async () => {
  const at = await makeProject.managed()
  const { mergeTriesMs } = app.deps.config
  // The scheduler decides how many tries it takes.
  app.deps.config.mergeTriesMs = 600_000
  let isOver = false
  const pusher = pushOn(at, () => isOver)
  let merges = 0
  // A head that the pusher left ahead of main moves main without a merge commit.
  let commits = 0
  // Most merges win sooner. This test is about one that loses its first three tries.
  for (let most = 0; most <= 3; merges++) {
    const cr = await at.open(`work-${merges}`, { [`${merges}.txt`]: 'x\n' })
    const { status, body } = await at.merge(cr.cr_id)
    expect(status).toBe(200)
    expect(await isOnMain(at, body.merge.merge_commit_sha)).toBe(true)
    if (!body.merge.fast_forward) commits++
    const attempts = app.deps.db.selectFrom('merge_attempts').select('attempt_id').where('cr_id', '=', cr.cr_id)
    most = Math.max(most, (await attempts.execute()).length)
  }
  isOver = true
  app.deps.config.mergeTriesMs = mergeTriesMs
  const pushed = await pusher
  expect(await gitText(at.repo, 'rev-list', '--count', '--no-merges', '--grep=-', 'main')).toBe(String(pushed))
  expect(await gitText(at.repo, 'rev-list', '--count', '--merges', 'main')).toBe(String(commits))
}, 120_000)

describe.each(['managed', 'external'] as const)('concurrent merges on two servers, in a project that is %s', (kind) => {
  test('ten disjoint merges into one base all succeed', async () => {
    const at = await makeProject[kind]()
    const opened = []
    for (let n = 0; n < 10; n++) opened.push(await at.open(`work-${n}`, { [`${n}.txt`]: 'x\n' }))
    const replies = await Promise.all(
      opened.map((cr, n) => (n % 2 === 0 ? app : other).request<MergeReply>('POST', at.path(cr.cr_id, 'merge'))),
    )
    expect(replies.map((reply) => reply.status)).toEqual(opened.map(() => 200))
    const merges = replies.map((reply) => reply.body.merge)
    // Each starts where another one ended: nothing was overwritten.
    expect(new Set(merges.map((merge) => merge.base_sha_before)).size).toBe(10)
    for (const merge of merges) expect(await isOnMain(at, merge.merge_commit_sha)).toBe(true)
    const names = (await gitText(at.repo, 'ls-tree', '--name-only', 'main')).split('\n')
    expect(names).toEqual([...opened.map((_, n) => `${n}.txt`), 'README.md'])
  })

  test('one of twenty concurrent merges of one change request succeeds', async () => {
    const at = await makeProject[kind]()
    const cr = await at.open('work', { 'a.txt': 'a\n' })
    const base = await commit(at.repo, 'main', { 'b.txt': 'b\n' })
    const replies = await Promise.all(
      Array.from({ length: 20 }, (_, n) => (n % 2 === 0 ? app : other).request('POST', at.path(cr.cr_id, 'merge'))),
    )
    expect(replies.map((reply) => reply.status).toSorted((a, b) => a - b)).toEqual([
      200,
      ...Array<number>(19).fill(409),
    ])
    expect(await gitText(at.repo, 'rev-list', '--count', '--merges', `${base}..main`)).toBe('1')
    expect((await auditOfObject(app, cr.cr_id)).map((row) => row.action)).toEqual([
      'change_request.open',
      'change_request.merge',
    ])
  })

  test('no outside push and no acknowledged merge is lost', async () => {
    const at = await makeProject[kind]()
    const pushes: string[] = []
    // The scheduler decides whether a push lands between two merges, so rounds repeat until one does.
    for (let round = 0, most = 0; most < 2; round++) {
      const opened = []
      for (let n = 0; n < 6; n++) opened.push(await at.open(`work-${round}-${n}`, { [`${round}-${n}.txt`]: 'x\n' }))
      let isOver = false
      const pusher = pushBetween(at, () => isOver)
      const replies = await Promise.all(
        opened.map((cr, n) =>
          (n % 2 === 0 ? app : other).request<MergeReply & { code?: string }>('POST', at.path(cr.cr_id, 'merge')),
        ),
      )
      isOver = true
      const pushed = await pusher
      most = Math.max(most, pushed.length)
      pushes.push(...pushed)
      for (const sha of pushes) expect(await isOnMain(at, sha)).toBe(true)
      for (const [n, { status, body }] of replies.entries()) {
        const { status: found, merge_commit_sha } = await at.get(opened[n]!.cr_id)
        if (status === 200) {
          expect([found, merge_commit_sha]).toEqual(['merged', body.merge.merge_commit_sha])
          expect(await isOnMain(at, body.merge.merge_commit_sha)).toBe(true)
        } else {
          expect([status, body.code, found]).toEqual([409, 'base_moved', 'open'])
          expect(await isOnMain(at, opened[n]!.head_commit_sha!)).toBe(false)
        }
      }
    }
  }, 120_000)

  test('never merges a push that arrived after the caller looked', async () => {
    const at = await makeProject[kind]()
    for (let round = 0; round < 5; round++) {
      const cr = await at.open(`work-${round}`, { [`${round}.txt`]: 'x\n' })
      const [reply, pushed] = await Promise.all([
        at.merge(cr.cr_id, { body: { expected_head_sha: cr.head_commit_sha } }),
        commit(at.repo, `work-${round}`, { 'unseen.txt': `${round}\n` }),
      ])
      expect(await isOnMain(at, pushed)).toBe(false)
      if (reply.status === 200) expect(reply.body.change_request.head_commit_sha).toBe(cr.head_commit_sha)
      else expect(reply.body).toMatchObject({ code: 'head_moved' })
    }
  })
})
