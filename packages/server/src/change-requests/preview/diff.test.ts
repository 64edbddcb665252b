import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { ChangeRequestDiff, MergePreview } from '@svc/contract'
import { commit, diverge, type Files } from '@svc/git/testing'
import { makeTestApp, type TestApp } from '../../testing.ts'
import { gitText, type Refusal, type TestProject, testProject } from '../testing.ts'

let app: TestApp
beforeAll(async () => {
  app = await makeTestApp()
}, 120_000)
afterAll(() => app.close())

const start = { 'keep.txt': 'same\n', 'edit.txt': 'one\ntwo\n', 'drop.txt': 'bye\n' }
const work = {
  'edit.txt': 'one\n2\nthree\n',
  'drop.txt': null,
  'new/file.txt': 'hi\n',
  'raw.bin': new Uint8Array([0, 1, 2]),
}

describe.each(['managed', 'external'] as const)('the diff in a project that is %s', (kind) => {
  const makeProject = async () =>
    testProject(app, await (kind === 'managed' ? app.managedProject(start) : app.externalProject(start)))

  test('shows what the head changed since it left the base, as numbers and as a patch', async () => {
    const at = await makeProject()
    const cr = await at.open('work', work)
    await commit(at.repo, 'main', { 'keep.txt': 'changed on main\n' })
    const { status, body } = await app.request<ChangeRequestDiff>('GET', at.path(cr.cr_id, 'diff'))
    expect(status).toBe(200)
    expect(body).toMatchObject({
      cr_id: cr.cr_id,
      base_ref: 'main',
      head_ref: 'work',
      base_sha: await at.tip('main'),
      head_sha: cr.head_commit_sha,
      merge_base: cr.base_commit_sha,
      files_changed: 4,
      additions: 3,
      deletions: 2,
      truncated: false,
    })
    const file = { old_path: null, binary: false, additions: 0, deletions: 0 }
    expect(body.files.toSorted((a, b) => (a.path < b.path ? -1 : 1))).toEqual([
      { ...file, path: 'drop.txt', status: 'deleted', deletions: 1 },
      { ...file, path: 'edit.txt', status: 'modified', additions: 2, deletions: 1 },
      { ...file, path: 'new/file.txt', status: 'added', additions: 1 },
      { ...file, path: 'raw.bin', status: 'added', binary: true, old_size: null, new_size: 3 },
    ])
    const patch = await app.request('GET', at.path(cr.cr_id, 'diff'), { headers: { accept: 'text/x-diff, */*;q=0.1' } })
    expect(patch.headers.get('content-type')).toBe('text/x-diff; charset=utf-8')
    expect(patch.headers.get('x-request-id')).toBeTruthy()
    expect(patch.text).toBe(body.patch)
    expect(patch.text).toContain('+three\n')
    expect(patch.text).not.toContain('changed on main')
  })

  test('ignores whitespace and names the files without other changes', async () => {
    const at = await makeProject()
    const cr = await at.open('work', { 'keep.txt': '  same\n', 'edit.txt': ' one\ntwo\nthree\n' })
    const { body } = await app.request<ChangeRequestDiff>('GET', `${at.path(cr.cr_id, 'diff')}?ignore_whitespace=1`)
    expect(body).toMatchObject({ files_changed: 1, additions: 1, deletions: 0, whitespace_only: ['keep.txt'] })
    const all = await app.request<ChangeRequestDiff>('GET', at.path(cr.cr_id, 'diff'))
    expect(all.body).toMatchObject({ files_changed: 2, additions: 3, deletions: 2 })
    expect(all.body).not.toHaveProperty('whitespace_only')
    const patch = await app.request('GET', `${at.path(cr.cr_id, 'diff')}?ignore_whitespace=1`, {
      headers: { accept: 'text/x-diff' },
    })
    expect(patch.text).toBe(body.patch)
  })

  test('keeps all files and truncates the patch over its limits, and streams the whole patch', async () => {
    const at = await makeProject()
    const lines = (letter: string) => `${letter}\n`.repeat(130_000)
    const cr = await at.open('work', { 'a-first.txt': 'x\n', 'one.txt': lines('a'), 'two.txt': lines('b') })
    const { body } = await app.request<ChangeRequestDiff>('GET', at.path(cr.cr_id, 'diff'))
    expect(body).toMatchObject({ truncated: true, files_changed: 3, additions: 260_001 })
    expect(body.files.map(({ path, additions }) => [path, additions])).toEqual([
      ['a-first.txt', 1],
      ['one.txt', 130_000],
      ['two.txt', 130_000],
    ])
    expect(body.patch).toContain('+++ b/one.txt')
    expect(body.patch).not.toContain('+++ b/two.txt')
    const patch = await app.request('GET', at.path(cr.cr_id, 'diff'), { headers: { accept: 'text/x-diff' } })
    expect(patch.text.match(/^\+[abx]$/gm)).toHaveLength(260_001)
  })

  test('reads the diff of a closed change request live, and of a deleted branch as last seen', async () => {
    const at = await makeProject()
    const cr = await at.open('work', work)
    const diff = async () => (await app.request<ChangeRequestDiff>('GET', at.path(cr.cr_id, 'diff'))).body
    await app.request('POST', at.path(cr.cr_id, 'close'))
    const head = await commit(at.repo, 'work', { 'more.txt': 'more\n' })
    expect(await diff()).toMatchObject({ head_sha: head, files_changed: 5 })
    await app.request('POST', at.path(cr.cr_id, 'reopen'))
    const before = await diff()
    await gitText(at.repo, 'update-ref', '-d', 'refs/heads/work')
    expect(await diff()).toEqual(before)
    const preview = await app.request<MergePreview>('GET', at.path(cr.cr_id, 'merge-preview'))
    expect(preview.body).toMatchObject({ head_sha: head, can_merge: true })
  })

  test.each([
    ['a fast-forward', false],
    ['a merge commit', true],
  ])('the diff of a change request merged by %s stays available', async (_, moves) => {
    const outside = kind === 'external' ? await app.externalProject(start) : null
    const at = testProject(app, outside ?? (await app.managedProject(start)))
    const cr = await at.open('work', work)
    if (moves) await commit(at.repo, 'main', { 'keep.txt': 'changed on main\n' })
    const diff = async () => (await app.request<ChangeRequestDiff>('GET', at.path(cr.cr_id, 'diff'))).body
    const preview = async () => (await app.request<MergePreview>('GET', at.path(cr.cr_id, 'merge-preview'))).body
    const [before, previewBefore] = [await diff(), await preview()]
    expect(previewBefore).toMatchObject({ can_merge: true, can_fast_forward: !moves })
    expect((await at.merge(cr.cr_id)).status).toBe(200)
    await commit(at.repo, 'main', { 'later.txt': 'later\n' })
    await gitText(at.repo, 'update-ref', '-d', 'refs/heads/work')
    if (outside !== null) await outside.host.close()
    else {
      await gitText(at.repo, 'update-ref', '-d', 'refs/heads/main')
      await gitText(at.repo, 'gc', '--prune=now', '--quiet')
    }
    expect(await diff()).toEqual(before)
    expect(await preview()).toEqual(previewBefore)
  })
})

test('shows only later changes since a commit of the head, and refuses other commits', async () => {
  const at = testProject(app, await app.managedProject(start))
  const cr = await at.open('work', { 'new.txt': 'one\n' })
  await commit(at.repo, 'work', { 'later.txt': 'two\n' })
  const since = (sha: string) =>
    app.request<ChangeRequestDiff & Refusal>('GET', `${at.path(cr.cr_id, 'diff')}?since=${sha}`)
  const { body } = await since(cr.head_commit_sha!)
  expect(body.files.map(({ path }) => path)).toEqual(['later.txt'])
  expect(body.base_sha).toBe(cr.head_commit_sha!)
  await commit(at.repo, 'elsewhere', { 'secret.txt': 'x\n' })
  for (const sha of [await at.tip('elsewhere'), 'a'.repeat(40)]) {
    const refused = await since(sha)
    expect(refused.status).toBe(400)
    expect(refused.body.issues?.[0]?.path).toBe('since')
  }
})

describe('changes since an earlier head', () => {
  const long = (change: Record<number, string> = {}) =>
    Array.from({ length: 60 }, (_, i) => `${change[i + 1] ?? `line ${i + 1}`}\n`).join('')
  const started = async () => {
    const at = testProject(app, await app.managedProject({ 'long.txt': long(), 'other.txt': 'other\n' }))
    const cr = await at.open('work', { 'long.txt': long({ 10: 'ten' }) })
    const since = (query = '') =>
      app.request<ChangeRequestDiff & Refusal>('GET', at.path(cr.cr_id, `diff?since=${cr.head_commit_sha}${query}`))
    return { at, cr, since }
  }

  test('shows only the work of a branch that merged its base, without the changes of the base', async () => {
    const { at, cr, since } = await started()
    await commit(at.repo, 'main', { 'long.txt': long({ 40: 'forty of main' }), 'of-main.txt': 'x\n' })
    await merge(at, 'work', { 'long.txt': long({ 10: 'ten', 40: 'forty of main', 50: 'fifty' }), 'of-main.txt': 'x\n' })
    const { body } = await since()
    expect(body.since).toEqual({ sha: cr.head_commit_sha!, rewritten: false, base_moved: true, conflicts: [] })
    expect(body).toMatchObject({ files_changed: 1, additions: 1, deletions: 1 })
    expect(body.patch).toContain('+fifty')
    expect(body.patch).not.toContain('of main')
    const patch = await app.request('GET', at.path(cr.cr_id, `diff?since=${cr.head_commit_sha}`), {
      headers: { accept: 'text/x-diff' },
    })
    expect(patch.text).toBe(body.patch)
  })

  test('shows how conflicts with the base were resolved', async () => {
    const { at, since } = await started()
    await commit(at.repo, 'main', { 'long.txt': long({ 10: 'ten of main' }) })
    await merge(at, 'work', { 'long.txt': long({ 10: 'ten of both' }) })
    const { body } = await since()
    expect(body.since).toMatchObject({ base_moved: true, conflicts: ['long.txt'] })
    expect(body.files.map(({ path }) => path)).toEqual(['long.txt'])
    expect(body.patch).toContain('-<<<<<<<')
    expect(body.patch).toContain('-ten of main')
    expect(body.patch).toContain('+ten of both')
  })

  test('compares a rewritten branch with its earlier head, also on another base', async () => {
    const { at, cr, since } = await started()
    await commit(at.repo, 'main', { 'of-main.txt': 'x\n' })
    await gitText(at.repo, 'update-ref', 'refs/heads/work', await at.tip('main'))
    await commit(at.repo, 'work', { 'long.txt': long({ 10: 'ten', 11: 'eleven' }) })
    const { body } = await since()
    expect(body.since).toEqual({ sha: cr.head_commit_sha!, rewritten: true, base_moved: true, conflicts: [] })
    expect(body.files.map(({ path }) => path)).toEqual(['long.txt'])
    expect(body).toMatchObject({ additions: 1, deletions: 1 })
    expect((await since('&ignore_whitespace=1')).body.whitespace_only).toEqual([])

    // Seen once, then lost with a mirror.
    const lost = 'b'.repeat(40)
    await app.deps.db.insertInto('change_request_heads').values({ cr_id: cr.cr_id, head_sha: lost }).execute()
    const gone = await app.request<Refusal>('GET', at.path(cr.cr_id, `diff?since=${lost}`))
    expect(gone.status).toBe(400)
    expect(gone.body).toMatchObject({
      code: 'invalid',
      error: 'The branch was rewritten, and that commit no longer exists.',
    })
    expect(gone.body.issues?.[0]?.path).toBe('since')
  })

  /** A commit on `branch` with these files and main as its second parent. */
  async function merge(at: TestProject, branch: string, files: Files): Promise<void> {
    const [head, main] = [await at.tip(branch), await at.tip('main')]
    const made = await commit(at.repo, branch, files)
    const merged = await gitText(at.repo, 'commit-tree', '-p', head, '-p', main, '-m', 'Take main in', `${made}^{tree}`)
    await gitText(at.repo, 'update-ref', `refs/heads/${branch}`, merged)
  }
})

test('detects renames only on request', async () => {
  const at = testProject(app, await app.managedProject({ 'old.txt': 'a\nb\nc\nd\n' }))
  const cr = await at.open('work', { 'old.txt': null, 'new.txt': 'a\nb\nc\nd\n' })
  const statuses = async (query: string) =>
    (await app.request<ChangeRequestDiff>('GET', at.path(cr.cr_id, `diff${query}`))).body.files
      .map((file) => file.status)
      .sort()
  expect(await statuses('')).toEqual(['added', 'deleted'])
  expect(await statuses('?renames=1')).toEqual(['renamed'])
  expect((await app.request<Refusal>('GET', at.path(cr.cr_id, 'diff?renames=maybe'))).status).toBe(400)
})

describe('the merge preview', () => {
  const previewOf = async (at: ReturnType<typeof testProject>, crId: string) =>
    (await app.request<MergePreview>('GET', at.path(crId, 'merge-preview'))).body

  test('has the seven fields and stores the tips', async () => {
    const at = testProject(app, await app.managedProject())
    const cr = await at.open('work', { 'a.txt': 'a\n' })
    const head = await commit(at.repo, 'work', { 'a.txt': 'b\n' })
    expect(await previewOf(at, cr.cr_id)).toEqual({
      base_sha: cr.base_commit_sha!,
      head_sha: head,
      merge_base: cr.base_commit_sha,
      is_up_to_date: false,
      can_merge: true,
      can_fast_forward: true,
      conflicts: [],
    })
    const row = await app.deps.db
      .selectFrom('change_requests')
      .select('head_commit_sha')
      .where('cr_id', '=', cr.cr_id)
      .executeTakeFirstOrThrow()
    expect(row.head_commit_sha).toBe(head)
  })

  test('names the conflicting files', async () => {
    const at = testProject(app, await app.managedProject({ 'a.txt': '1\n' }))
    await diverge(at.repo, 'work', 'a.txt')
    const cr = await at.open('work', { 'b.txt': 'b\n' })
    expect(await previewOf(at, cr.cr_id)).toMatchObject({
      can_merge: false,
      can_fast_forward: false,
      conflicts: ['a.txt'],
    })
  })

  test('has no merge base for unrelated histories', async () => {
    const at = testProject(app, await app.managedProject())
    await commit(at.repo, 'other', { 'x.txt': 'x\n' }, { orphan: true })
    const cr = await at.open('other', { 'y.txt': 'y\n' })
    expect(await previewOf(at, cr.cr_id)).toMatchObject({ merge_base: null, can_merge: true, can_fast_forward: false })
  })
})
