import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { ChangeRequest } from '@svc/contract'
import { fetchObjects, planMerge } from '@svc/git'
import { commit } from '@svc/git/testing'
import { openRepository } from '../../projects/repository.ts'
import { getProject } from '../../projects/store.ts'
import { makeTestApp, type TestApp } from '../../testing.ts'
import { insertAttempt } from './attempt-store.ts'
import { recordMerge } from './record.ts'
import { reconcileMerges } from './reconcile.ts'
import { requireChangeRequest } from '../store.ts'
import { auditOfObject, gitText, type TestProject, testProject } from '../testing.ts'

let app: TestApp
beforeAll(async () => {
  app = await makeTestApp()
}, 120_000)
afterAll(() => app.close())

const makeProject = {
  managed: async () => testProject(app, await app.managedProject()),
  external: async () => testProject(app, await app.externalProject()),
}
const reconcileAll = () => reconcileMerges(app.deps, new AbortController().signal)
const stateOf = async (crId: string) =>
  (await app.deps.db.selectFrom('merge_attempts').select('state').where('cr_id', '=', crId).execute()).map(
    (row) => row.state,
  )

/** The state that a killed server leaves: the intent row, and the result among the objects. `push` is how far it came. */
async function dieMerging(
  at: TestProject,
  cr: ChangeRequest,
  push: (input: { baseSha: string; resultSha: string }) => Promise<void>,
  key: string | null = null,
) {
  const [baseSha, headSha] = [await at.tip(cr.base_ref), await at.tip(cr.head_ref)]
  const repository = await openRepository(app.deps, (await getProject(app.deps.db, cr.project_id))!)
  expect(await fetchObjects(repository, [baseSha, headSha])).toEqual({ kind: 'present' })
  const date = new Date('2026-01-02T03:04:05Z')
  const plan = await planMerge(repository, { baseSha, headSha, message: 'died', date })
  if (plan.kind !== 'merge-commit' && plan.kind !== 'fast-forward') throw new Error(`planned ${plan.kind}`)
  const attempt = await insertAttempt(app.deps.db, {
    attempt_id: crypto.randomUUID(),
    cr_id: cr.cr_id,
    project_id: cr.project_id,
    base_ref: cr.base_ref,
    base_sha: baseSha,
    head_sha: headSha,
    result_sha: plan.resultSha,
    kind: plan.kind,
    message: 'died',
    commit_date: date,
    merged_by: app.owner.user_id,
    caller: {
      actor: { kind: 'user', user_id: app.owner.user_id, token_id: null, expires_at: null },
      requestId: 'the-request-that-died',
      address: '127.0.0.1',
    },
    idempotency_key: key,
    created_at: new Date(),
  })
  if (attempt === null) throw new Error('not open')
  await push({ baseSha, resultSha: plan.resultSha })
  return attempt
}

/** Pushes the result as the dead server did: through the repository the merge was made in. */
const pushed =
  (at: TestProject, branch = 'main') =>
  async (input: { baseSha: string; resultSha: string }) => {
    const repository = await openRepository(app.deps, (await getProject(app.deps.db, at.project.project_id))!)
    if (repository.dir !== at.repo.dir)
      await gitText(at.repo, 'fetch', '--quiet', repository.dir, `+${input.resultSha}:refs/svc-test/result`)
    await gitText(at.repo, 'update-ref', `refs/heads/${branch}`, input.resultSha, input.baseSha)
  }

describe.each(['managed', 'external'] as const)('a server killed during a merge, in a project that is %s', (kind) => {
  const beside = async (at: TestProject) => {
    const cr = await at.open('work', { 'a.txt': 'a\n' })
    await commit(at.repo, 'main', { 'b.txt': 'b\n' })
    return cr
  }

  test('nothing happened when it was killed before the push, and the next merge works', async () => {
    const at = await makeProject[kind]()
    const cr = await beside(at)
    const base = await at.tip('main')
    await dieMerging(at, cr, async () => {})
    await reconcileAll()
    expect(await stateOf(cr.cr_id)).toEqual(['abandoned'])
    expect((await at.get(cr.cr_id)).status).toBe('open')
    expect(await at.tip('main')).toBe(base)
    expect((await at.merge(cr.cr_id)).status).toBe(200)
  })

  test('the change request is merged once by that commit when it was killed after the push, with audit row and diff', async () => {
    const at = await makeProject[kind]()
    const cr = await beside(at)
    const attempt = await dieMerging(at, cr, pushed(at))
    await Promise.all([reconcileAll(), reconcileAll(), at.merge(cr.cr_id)])
    expect(await stateOf(cr.cr_id)).toEqual(['landed'])
    expect(await at.tip('main')).toBe(attempt.result_sha)
    expect(await at.get(cr.cr_id)).toMatchObject({
      status: 'merged',
      merge_commit_sha: attempt.result_sha,
      base_commit_sha: attempt.base_sha,
      head_commit_sha: attempt.head_sha,
      merged_by: app.owner.user_id,
      merged_at: attempt.created_at,
    })
    expect((await auditOfObject(app, cr.cr_id)).map((row) => row.action)).toEqual([
      'change_request.open',
      'change_request.merge',
    ])
    // Kept where it was made, whatever happens to the branches.
    const { dir } = await openRepository(app.deps, (await getProject(app.deps.db, cr.project_id))!)
    const kept = await gitText({ dir }, 'for-each-ref', '--format=%(refname) %(objectname)', 'refs/svc/cr')
    expect(kept.split('\n')).toEqual([
      `refs/svc/cr/${cr.number}/base ${attempt.base_sha}`,
      `refs/svc/cr/${cr.number}/head ${attempt.head_sha}`,
    ])
    await gitText(at.repo, 'update-ref', '-d', 'refs/heads/work')
    const { body } = await app.request<{ files: { path: string }[] }>('GET', at.path(cr.cr_id, 'diff'))
    expect(body.files.map((file) => file.path)).toEqual(['a.txt'])
  })

  test('finds the merge when others pushed on top of it', async () => {
    const at = await makeProject[kind]()
    const cr = await beside(at)
    const attempt = await dieMerging(at, cr, pushed(at))
    await commit(at.repo, 'main', { 'later.txt': 'x\n' })
    await reconcileAll()
    expect(await at.get(cr.cr_id)).toMatchObject({ status: 'merged', merge_commit_sha: attempt.result_sha })
  })

  test('the merge did not happen when others pushed instead of it', async () => {
    const at = await makeProject[kind]()
    const cr = await beside(at)
    await dieMerging(at, cr, async () => {})
    const base = await commit(at.repo, 'main', { 'other.txt': 'x\n' })
    await reconcileAll()
    expect(await stateOf(cr.cr_id)).toEqual(['abandoned'])
    expect(await at.get(cr.cr_id)).toMatchObject({ status: 'open', base_commit_sha: base })
  })

  test('the next merge into the same base reconciles it', async () => {
    const at = await makeProject[kind]()
    const [cr, other] = [await beside(at), await at.open('other', { 'o.txt': 'o\n' })]
    const attempt = await dieMerging(at, cr, pushed(at))
    expect((await at.merge(other.cr_id)).status).toBe(200)
    expect(await at.get(cr.cr_id)).toMatchObject({ status: 'merged', merge_commit_sha: attempt.result_sha })
  })

  test('a repetition with the same key returns the merge that was made', async () => {
    const at = await makeProject[kind]()
    const cr = await beside(at)
    const attempt = await dieMerging(at, cr, pushed(at), `sent-again-${kind}`)
    const { status, body } = await at.merge(cr.cr_id, { headers: { 'idempotency-key': `sent-again-${kind}` } })
    expect(status).toBe(200)
    expect(body.merge).toEqual({
      merge_commit_sha: attempt.result_sha,
      fast_forward: false,
      up_to_date: false,
      base_sha_before: attempt.base_sha,
      base_sha_after: attempt.result_sha,
    })
    expect(await stateOf(cr.cr_id)).toEqual(['landed'])
  })

  test('cannot be closed before the outcome of the merge is known', async () => {
    const at = await makeProject[kind]()
    const [cr, other] = [await beside(at), await at.open('other', { 'o.txt': 'o\n' }, { base_ref: 'work' })]
    await dieMerging(at, cr, pushed(at))
    await dieMerging(at, other, async () => {})
    expect((await app.request('POST', at.path(cr.cr_id, 'close'))).status).toBe(409)
    expect((await at.get(cr.cr_id)).status).toBe('merged')
    expect((await app.request<ChangeRequest>('POST', at.path(other.cr_id, 'close'))).body.status).toBe('closed')
  })

  test('accepts a push that arrived after the attempt was given up', async () => {
    const at = await makeProject[kind]()
    const cr = await beside(at)
    let late = async () => {}
    const attempt = await dieMerging(at, cr, async (input) => {
      late = () => pushed(at)(input)
    })
    await reconcileAll()
    expect(await stateOf(cr.cr_id)).toEqual(['abandoned'])
    await late()
    const { body } = await at.merge(cr.cr_id)
    expect(body.merge).toMatchObject({
      merge_commit_sha: attempt.result_sha,
      base_sha_before: attempt.base_sha,
      up_to_date: false,
    })
    expect(body.change_request.base_commit_sha).toBe(attempt.base_sha)
  })

  test('accepts a merge by hand when the push never arrived', async () => {
    const at = await makeProject[kind]()
    const cr = await beside(at)
    const attempt = await dieMerging(at, cr, async () => {})
    await reconcileAll()
    const byHand = await commit(at.repo, 'main', { 'c.txt': 'c\n' }, { parents: [attempt.base_sha, attempt.head_sha] })
    const { body } = await at.merge(cr.cr_id)
    expect(body.merge).toEqual({
      merge_commit_sha: byHand,
      fast_forward: false,
      up_to_date: true,
      base_sha_before: byHand,
      base_sha_after: byHand,
    })
    expect(await at.tip('main')).toBe(byHand)
  })

  test('records a landed merge once after another server gave the attempt up', async () => {
    const at = await makeProject[kind]()
    const [cr, other] = [await beside(at), await at.open('other', { 'o.txt': 'o\n' })]
    await dieMerging(at, other, async () => {})
    await reconcileAll()
    let push = async () => {}
    const attempt = await dieMerging(at, cr, async (input) => {
      push = () => pushed(at)(input)
    })
    await reconcileAll()
    await push()
    const project = (await getProject(app.deps.db, cr.project_id))!
    const repository = await openRepository(app.deps, project)
    const [one, two] = await Promise.all([1, 2].map(() => recordMerge(app.deps, repository, { attempt, project })))
    expect(one!.cr).toMatchObject({ status: 'merged', merge_commit_sha: attempt.result_sha })
    expect(two!.cr).toEqual(one!.cr)
    expect([await stateOf(cr.cr_id), await stateOf(other.cr_id)]).toEqual([['landed'], ['abandoned']])
    expect(await auditOfObject(app, cr.cr_id)).toHaveLength(2)
  })

  test('merges a change request under the title that was changed meanwhile', async () => {
    const at = await makeProject[kind]()
    const cr = await beside(at)
    const attempt = await dieMerging(at, cr, pushed(at))
    const found = await requireChangeRequest(app.deps.db, cr.project_id, cr.cr_id)
    expect((await app.request('PATCH', at.path(cr.cr_id), { body: { title: 'Renamed' } })).status).toBe(200)
    const project = (await getProject(app.deps.db, cr.project_id))!
    await recordMerge(app.deps, await openRepository(app.deps, project), { attempt, project, found })
    expect(await at.get(cr.cr_id)).toMatchObject({
      status: 'merged',
      title: 'Renamed',
      merge_commit_sha: attempt.result_sha,
    })
    expect(await stateOf(cr.cr_id)).toEqual(['landed'])
  })

  test('finds a fast-forward', async () => {
    const at = await makeProject[kind]()
    const cr = await at.open('work', { 'a.txt': 'a\n' })
    await dieMerging(at, cr, pushed(at))
    await reconcileAll()
    expect(await at.get(cr.cr_id)).toMatchObject({ status: 'merged', merge_commit_sha: cr.head_commit_sha })
  })
})

test('keeps an open attempt while its repository is unreachable, and reconciles others', async () => {
  const outside = await app.externalProject()
  const [away, here] = [testProject(app, outside), await makeProject.managed()]
  const [stuck, free] = [await away.open('work', { 'a.txt': 'a\n' }), await here.open('work', { 'a.txt': 'a\n' })]
  await dieMerging(away, stuck, pushed(away))
  await dieMerging(here, free, pushed(here))
  await outside.host.close()
  await reconcileAll()
  expect(await stateOf(stuck.cr_id)).toEqual(['intended'])
  expect(await stateOf(free.cr_id)).toEqual(['landed'])
  expect((await away.refusedMerge(stuck.cr_id)).status).toBe(502)
  expect(await stateOf(stuck.cr_id)).toEqual(['intended'])
})
