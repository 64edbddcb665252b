import { afterAll, expect, test } from 'bun:test'
import { readdir } from 'node:fs/promises'
import { findCollisions } from './collisions.ts'
import { previewMerge } from './preview.ts'
import { replayMerge, treeOf } from './replay.ts'
import { planMerge } from './merge.ts'
import { commit, type Files, makeRepo, type TestRepository } from '../testing.ts'

const made: TestRepository[] = []
afterAll(() => Promise.all(made.map((repo) => repo.remove())))

async function repoOf(branches: Record<string, Files>): Promise<TestRepository> {
  const repo = await makeRepo(branches)
  made.push(repo)
  return repo
}

const lines = (...all: string[]) => `${all.join('\n')}\n`

async function collide(repo: TestRepository, others: string[]) {
  const heads = new Map(await Promise.all(others.map(async (name) => [await repo.tip(name), name] as const)))
  const found = await findCollisions(repo, {
    baseSha: await repo.tip('main'),
    headSha: await repo.tip('work'),
    others: [...heads.keys()],
  })
  return Object.fromEntries([...found].map(([sha, files]) => [heads.get(sha), files]))
}

test('lists the heads that would conflict only after the merge, with their files', async () => {
  const repo = await repoOf({
    main: { 'a.txt': 'a\n', 'b.txt': 'b\n', 'c.txt': 'c\n' },
    work: { 'a.txt': 'work\n', 'b.txt': 'work\n' },
    both: { 'a.txt': 'both\n', 'b.txt': 'both\n' },
    one: { 'b.txt': 'one\n' },
    same: { 'a.txt': 'work\n' },
    apart: { 'c.txt': 'apart\n' },
  })
  const wanted = { both: ['a.txt', 'b.txt'], one: ['b.txt'] }
  expect(await collide(repo, ['both', 'one', 'same', 'apart'])).toEqual(wanted)
  // As a merge commit too, whose objects are nowhere but in a folder that is gone.
  await commit(repo, 'main', { 'd.txt': 'd\n' })
  expect(await collide(repo, ['both', 'one', 'same', 'apart'])).toEqual(wanted)
  expect((await readdir(repo.dir)).filter((name) => name.startsWith('svc-scratch'))).toEqual([])
})

test('does not report a conflict that already exists', async () => {
  const repo = await repoOf({
    main: { 'a.txt': 'a\n', 'b.txt': 'b\n' },
    work: { 'b.txt': 'work\n' },
    stale: { 'a.txt': 'stale\n' },
    worse: { 'a.txt': 'worse\n', 'b.txt': 'worse\n' },
  })
  await commit(repo, 'main', { 'a.txt': 'moved on\n' })
  expect(await collide(repo, ['stale', 'worse'])).toEqual({ worse: ['b.txt'] })
})

test('reports no collisions for a head that does not merge itself', async () => {
  const repo = await repoOf({ main: { 'a.txt': 'a\n' }, work: { 'a.txt': 'work\n' }, other: { 'a.txt': 'other\n' } })
  const main = await repo.tip('main')
  expect(await collide(repo, ['other'])).toEqual({ other: ['a.txt'] })
  await commit(repo, 'main', { 'a.txt': 'main\n' })
  expect(await collide(repo, ['other'])).toEqual({})
  const old = await findCollisions(repo, {
    baseSha: await repo.tip('work'),
    headSha: main,
    others: [await repo.tip('other')],
  })
  expect(old.size).toBe(0)
})

test('applies the attributes of the merge result', async () => {
  const repo = await repoOf({
    main: { 'log.txt': 'begin\n', '.gitattributes': 'log.txt merge=union\n' },
    work: { 'log.txt': lines('begin', 'work') },
    other: { 'log.txt': lines('begin', 'other') },
  })
  await commit(repo, 'main', { 'x.txt': 'x\n' })
  expect(await collide(repo, ['other'])).toEqual({})
  await commit(repo, 'work', { '.gitattributes': null })
  expect(await collide(repo, ['other'])).toEqual({ other: ['log.txt'] })
})

test('reports unusual conflicts like single merges do', async () => {
  const repo = await repoOf({
    main: { 'a.txt': lines('1', '2', '3', '4', '5'), 'dir/b.txt': 'b\n' },
    work: { 'a.txt': null, 'new.txt': lines('1', '2', '3', '4', '5'), thing: 'a file\n' },
    renamed: { 'a.txt': null, 'other.txt': lines('1', '2', '3', '4', '5') },
    folder: { 'thing/inside.txt': 'x\n' },
    unrelated: {},
  })
  await commit(repo, 'main', { 'm.txt': 'm\n' })
  const plan = await planMerge(repo, {
    baseSha: await repo.tip('main'),
    headSha: await repo.tip('work'),
    message: 'm',
    date: new Date(0),
  })
  if (plan.kind !== 'merge-commit') throw new Error(plan.kind)
  const found = await collide(repo, ['renamed', 'folder'])
  for (const branch of ['renamed', 'folder']) {
    const { conflicts } = await previewMerge(repo, { baseSha: plan.resultSha, headSha: await repo.tip(branch) })
    expect(conflicts.length).toBeGreaterThan(0)
    expect(found[branch]).toEqual(conflicts)
  }
})

test('repeating a merge produces the same commit, and other input another one', async () => {
  const repo = await repoOf({ main: { 'a.txt': 'a\n' }, work: { 'b.txt': 'b\n' } })
  await commit(repo, 'main', { 'c.txt': 'c\n' })
  const input = {
    baseSha: await repo.tip('main'),
    headSha: await repo.tip('work'),
    message: 'Merge it',
    date: new Date('2026-11-21T10:00:00Z'),
  }
  const plan = await planMerge(repo, input)
  if (plan.kind !== 'merge-commit') throw new Error(plan.kind)
  expect(await replayMerge(repo, input)).toEqual({ kind: 'merge-commit', commit: plan.resultSha, tree: plan.treeSha })
  expect(await treeOf(repo, plan.resultSha)).toBe(plan.treeSha)
  const other = await replayMerge(repo, { ...input, message: 'Merge it!' })
  expect(other).toMatchObject({ kind: 'merge-commit', tree: plan.treeSha })
  expect(other).not.toMatchObject({ commit: plan.resultSha })
  // Nothing of a replay stays in the repository.
  expect(other.kind === 'merge-commit' && (await treeOf(repo, other.commit))).toBeNull()
})
