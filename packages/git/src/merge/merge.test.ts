import { afterAll, describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import { git, gitLine } from '../process/git.ts'
import { mergeVerificationFailure } from './check.ts'
import { landMerge, planMerge, type MergePlan } from './merge.ts'
import { previewMerge } from './preview.ts'
import { fetchObjects } from '../mirror/repair.ts'
import { openMirror } from '../mirror/mirror.ts'
import { isAncestor, mergeBase } from '../refs/refs.ts'
import type { Sha } from '../repository.ts'
import { commit, diverge, tempDir, type Files } from '../testing.ts'
import { forked, plan, removeRepos, repoWith } from './testing-merges.ts'

const date = new Date('2026-01-02T03:04:05Z')
afterAll(removeRepos)

async function planFork(
  start: Files,
  main: Files,
  work: Files,
): Promise<MergePlan & { read: (path: string) => Promise<string> }> {
  const { repo, baseSha, headSha } = await forked(start, main, work)
  const planned = await plan(repo, baseSha, headSha)
  const preview = await previewMerge(repo, { baseSha, headSha })
  expect(preview.conflicts).toEqual(planned.kind === 'conflicted' ? planned.files : [])
  const read = async (path: string) => {
    if (planned.kind !== 'merge-commit') throw new Error(`The plan is ${planned.kind}.`)
    return (await git(repo.dir, ['cat-file', 'blob', `${planned.treeSha}:${path}`])).stdout.toString()
  }
  return { ...planned, read }
}

const lines = (...changed: [number, string][]) => {
  const all = Array.from({ length: 12 }, (_, index) => `line ${index}`)
  for (const [at, text] of changed) all[at] = text
  return `${all.join('\n')}\n`
}

describe('planMerge', () => {
  test('plans nothing for a head that is already merged', async () => {
    const repo = await repoWith({ main: { a: '1\n' } })
    const old = await repo.tip('main')
    const now = await commit(repo, 'main', { a: '2\n' })
    expect(await plan(repo, now, old)).toEqual({ kind: 'up-to-date' })
    expect(await plan(repo, now, now)).toEqual({ kind: 'up-to-date' })
  })

  test('plans a fast-forward for a head that is strictly ahead', async () => {
    const repo = await repoWith({ main: { a: '1\n' }, work: { b: '2\n' } })
    const headSha = await repo.tip('work')
    expect(await plan(repo, await repo.tip('main'), headSha)).toEqual({ kind: 'fast-forward', resultSha: headSha })
  })

  test('plans a commit with exactly the two tips as parents, in order, when both sides changed', async () => {
    const { repo, baseSha, headSha } = await forked(
      { a: lines() },
      { a: lines([1, 'main']) },
      { a: lines([10, 'work']) },
    )
    const planned = await plan(repo, baseSha, headSha)
    if (planned.kind !== 'merge-commit') throw new Error(planned.kind)
    const text = await gitLine(repo.dir, ['cat-file', 'commit', planned.resultSha])
    expect(text).toBe(
      [
        `tree ${planned.treeSha}`,
        `parent ${baseSha}`,
        `parent ${headSha}`,
        `author svc <noreply@svc.invalid> ${date.getTime() / 1000} +0000`,
        `committer svc <noreply@svc.invalid> ${date.getTime() / 1000} +0000`,
        '',
        'Merge work',
      ].join('\n'),
    )
    expect((await git(repo.dir, ['cat-file', 'blob', `${planned.treeSha}:a`])).stdout.toString()).toBe(
      lines([1, 'main'], [10, 'work']),
    )
    expect(await repo.tip('main')).toBe(baseSha)
  })

  test('plans the same commit for the same input in another repository', async () => {
    const { repo, baseSha, headSha } = await forked({ a: '1\n' }, { b: '2\n' }, { c: '3\n' })
    const temp = await tempDir()
    const copy = await openMirror(join(temp.path, 'copy.git'), {
      url: `file://${repo.dir}`,
      credential: null,
      allowProtocols: ['file'],
    })
    await fetchObjects(copy, [baseSha, headSha])
    expect(await plan(copy, baseSha, headSha)).toEqual(await plan(repo, baseSha, headSha))
    await temp.remove()
  })

  test('accepts any text as a message, never as an option', async () => {
    const { repo, baseSha, headSha } = await forked({ a: '1\n' }, { b: '2\n' }, { c: '3\n' })
    const planned = await planMerge(repo, { baseSha, headSha, message: '--amend\0\n\n# ünï `x`\n\n', date })
    if (planned.kind !== 'merge-commit') throw new Error(planned.kind)
    expect(await gitLine(repo.dir, ['log', '-1', '--format=%B', planned.resultSha])).toBe('--amend\n\n# ünï `x`')
  })

  test('merges in a SHA-256 repository', async () => {
    const repo = await repoWith({ main: { a: '1\n' }, work: { b: '2\n' } }, { format: 'sha256' })
    const baseSha = await commit(repo, 'main', { c: '3\n' })
    const planned = await plan(repo, baseSha, await repo.tip('work'))
    if (planned.kind !== 'merge-commit') throw new Error(planned.kind)
    expect(planned.resultSha).toHaveLength(64)
    expect(await landMerge(repo, { baseRef: 'main', baseSha, resultSha: planned.resultSha })).toEqual({
      kind: 'landed',
    })
  })

  test('accepts only full ids', async () => {
    const repo = await repoWith({ main: { a: '1\n' } })
    const sha = await repo.tip('main')
    for (const bad of ['main', 'HEAD', '--all', sha.slice(0, 39), `${sha}\n`, '']) {
      await expect(plan(repo, sha, bad)).rejects.toThrow('Not a full commit id')
    }
  })

  test('reports an unknown id as an error, not as a conflict', async () => {
    const repo = await repoWith({ main: { a: '1\n' } })
    await expect(plan(repo, await repo.tip('main'), 'f'.repeat(40))).rejects.toThrow(/merge-base failed/)
  })
})

describe('conflicts', () => {
  test('conflicts when both sides change the same lines differently', async () => {
    const repo = await repoWith({ main: { 'dir/a.txt': '1\n' } })
    const { base, head } = await diverge(repo, 'work', 'dir/a.txt')
    expect(await plan(repo, base, head)).toEqual({ kind: 'conflicted', files: ['dir/a.txt'] })
  })

  test('conflicts when one side deletes a file that the other changes', async () => {
    expect(await planFork({ a: lines(), b: '1\n' }, { a: null }, { a: lines([3, 'new']) })).toMatchObject({
      kind: 'conflicted',
      files: ['a'],
    })
  })

  test('conflicts when both sides add a file with different content', async () => {
    expect(await planFork({ x: '1\n' }, { a: 'one\n' }, { a: 'two\n' })).toMatchObject({
      kind: 'conflicted',
      files: ['a'],
    })
  })

  test('conflicts when both sides rename a file to different names', async () => {
    const planned = await planFork({ a: lines() }, { a: null, b: lines() }, { a: null, c: lines() })
    expect(planned).toMatchObject({ kind: 'conflicted', files: ['a', 'b', 'c'] })
  })

  test('conflicts when one side renames a file that the other deletes', async () => {
    const planned = await planFork({ a: lines(), x: '1\n' }, { a: null, b: lines([3, 'kept']) }, { a: null })
    expect(planned).toMatchObject({ kind: 'conflicted', files: ['b'] })
  })

  test('conflicts when both sides rename two files to one name', async () => {
    const planned = await planFork(
      { a: lines(), b: lines([0, 'other'], [5, 'x'], [6, 'y'], [7, 'z']) },
      { a: null, c: lines() },
      { b: null, c: lines([0, 'other'], [5, 'x'], [6, 'y'], [7, 'z']) },
    )
    expect(planned).toMatchObject({ kind: 'conflicted', files: ['c'] })
  })

  test('reports a conflict of a file with a directory under the names of the branches', async () => {
    const planned = await planFork({ x: '1\n' }, { thing: 'a file\n' }, { 'thing/inner': 'a folder\n' })
    expect(planned).toMatchObject({ kind: 'conflicted', files: ['thing'] })
  })

  test('reports a conflict of a file with a symbolic link under the names of the branches', async () => {
    const planned = await planFork({ x: '1\n' }, { thing: 'a file\n' }, { thing: { mode: '120000', content: 'x' } })
    expect(planned).toMatchObject({ kind: 'conflicted', files: ['thing'] })
  })

  test('conflicts when both sides change the target of a symbolic link', async () => {
    const link = (content: string) => ({ mode: '120000' as const, content })
    expect(await planFork({ l: link('a') }, { l: link('b') }, { l: link('c') })).toMatchObject({
      kind: 'conflicted',
      files: ['l'],
    })
  })

  test('takes the executable mode of one side, and conflicts when a file is added with two modes', async () => {
    const executable = (content: string) => ({ mode: '100755' as const, content })
    expect(await planFork({ s: lines() }, { s: executable(lines()) }, { s: lines([3, 'x']) })).toMatchObject({
      kind: 'merge-commit',
    })
    expect(await planFork({ x: '1\n' }, { s: executable('a\n') }, { s: 'a\n' })).toMatchObject({
      kind: 'conflicted',
      files: ['s'],
    })
  })

  test('conflicts when both sides change a binary file', async () => {
    expect(await planFork({ b: 'a\0b\n' }, { b: 'a\0c\n' }, { b: 'a\0d\n' })).toMatchObject({
      kind: 'conflicted',
      files: ['b'],
    })
  })

  test('conflicts when both sides move a submodule', async () => {
    const at = (digit: string) => ({ mode: '160000' as const, content: digit.repeat(40) })
    expect(await planFork({ m: at('1'), x: '1\n' }, { m: at('2') }, { m: at('3') })).toMatchObject({
      kind: 'conflicted',
      files: ['m'],
    })
    expect(await planFork({ m: at('1'), x: '1\n' }, { m: at('2') }, { x: '2\n' })).toMatchObject({
      kind: 'merge-commit',
    })
  })

  test('reports files that cannot be placed when a directory was split', async () => {
    const start: Files = {}
    for (let i = 0; i < 4; i++) start[`old/${i}.txt`] = lines([i, `file ${i}`])
    const split: Files = {}
    for (let i = 0; i < 4; i++) {
      split[`old/${i}.txt`] = null
      split[`${i % 2 ? 'left' : 'right'}/${i}.txt`] = lines([i, `file ${i}`])
    }
    const planned = await planFork(start, split, { 'old/new.txt': 'where do I go?\n' })
    if (planned.kind !== 'conflicted') throw new Error(planned.kind)
    expect(planned.files.length).toBeGreaterThan(0)
    expect(planned.files.every((file) => file.startsWith('old'))).toBe(true)
  })

  test('conflicts when a file is added to a directory that the other side renamed', async () => {
    const start: Files = {}
    for (let i = 0; i < 3; i++) start[`old/${i}.txt`] = lines([i, `file ${i}`])
    const moved: Files = {}
    for (let i = 0; i < 3; i++)
      Object.assign(moved, { [`old/${i}.txt`]: null, [`new/${i}.txt`]: lines([i, `file ${i}`]) })
    expect(await planFork(start, moved, { 'old/added.txt': 'hello\n' })).toMatchObject({
      kind: 'conflicted',
      files: ['new/added.txt'],
    })
  })
})

describe('clean merges with renames and unusual histories', () => {
  test('applies a change to a file that the other side renamed', async () => {
    const planned = await planFork({ a: lines() }, { a: null, b: lines() }, { a: lines([5, 'changed']) })
    expect(planned.kind).toBe('merge-commit')
    expect(await planned.read('b')).toBe(lines([5, 'changed']))
  })

  test('merges unrelated histories side by side', async () => {
    const repo = await repoWith({ main: { a: '1\n' } })
    const baseSha = await repo.tip('main')
    const headSha = await commit(repo, 'other', { b: '2\n' }, { orphan: true })
    expect(await mergeBase(repo, baseSha, headSha)).toBeNull()
    expect(await previewMerge(repo, { baseSha, headSha })).toMatchObject({
      merge_base: null,
      can_merge: true,
      can_fast_forward: false,
    })
    expect(await plan(repo, baseSha, headSha)).toMatchObject({ kind: 'merge-commit' })
    const clashing = await commit(repo, 'clash', { a: 'else\n' }, { orphan: true })
    expect(await plan(repo, baseSha, clashing)).toEqual({ kind: 'conflicted', files: ['a'] })
  })

  test('merges a criss-cross history recursively and reports one of its ancestors', async () => {
    const repo = await repoWith({ main: { a: lines() } })
    const left = await commit(repo, 'left', { a: lines([1, 'left']) })
    const right = await commit(repo, 'right', { a: lines([10, 'right']) })
    const both = { a: lines([1, 'left'], [10, 'right']) }
    const baseSha = await commit(repo, 'left', both, { parents: [right] })
    const rightMerge = await commit(repo, 'right', both, { parents: [left] })
    const headSha = await commit(repo, 'right', { a: lines([1, 'left'], [5, 'later'], [10, 'right']) })
    expect(await isAncestor(repo, rightMerge, headSha)).toBe(true)
    const preview = await previewMerge(repo, { baseSha, headSha })
    expect([left, right]).toContain(preview.merge_base as string)
    const planned = await plan(repo, baseSha, headSha)
    if (planned.kind !== 'merge-commit') throw new Error(planned.kind)
    const merged = await git(repo.dir, ['cat-file', 'blob', `${planned.treeSha}:a`])
    expect(merged.stdout.toString()).toBe(lines([1, 'left'], [5, 'later'], [10, 'right']))
  })

  test('attributes that renormalize line endings do not break the merge', async () => {
    const start = { '.gitattributes': '* text=auto eol=crlf\n', a: lines().replaceAll('\n', '\r\n') }
    const planned = await planFork(
      start,
      { a: lines([1, 'main']).replaceAll('\n', '\r\n') },
      { a: lines([10, 'work']).replaceAll('\n', '\r\n') },
    )
    expect(planned.kind).toBe('merge-commit')
  })

  test('merges a large text file by lines, not as a binary', async () => {
    const big = (first: string, last: string) =>
      `${first}\n${'0123456789 abcdefghijklmnopqrstuvwxyz\n'.repeat(60_000)}${last}\n`
    const planned = await planFork({ big: big('a', 'z') }, { big: big('A', 'z') }, { big: big('a', 'Z') })
    expect(planned.kind).toBe('merge-commit')
    expect(await planned.read('big')).toBe(big('A', 'Z'))
  }, 120_000)
})

describe('.gitattributes, which a bare repository ignores', () => {
  const sides: [Files, Files] = [{ log: 'start\nmain\n' }, { log: 'start\nwork\n' }]

  test('merge=union keeps both sides', async () => {
    const planned = await planFork({ log: 'start\n', '.gitattributes': 'log merge=union\n' }, ...sides)
    expect(planned.kind).toBe('merge-commit')
    expect((await planned.read('log')).split('\n').sort()).toEqual(['', 'main', 'start', 'work'])
  })

  test('-merge and binary conflict where lines would merge', async () => {
    for (const attribute of ['-merge', 'binary', 'merge=binary']) {
      const start = { data: lines(), '.gitattributes': `data ${attribute}\n` }
      const planned = await planFork(start, { data: lines([1, 'main']) }, { data: lines([10, 'work']) })
      expect(planned).toMatchObject({ kind: 'conflicted', files: ['data'] })
    }
  })

  test('the .gitattributes file of the nearest folder wins', async () => {
    const start = { 'p/q/log': 'start\n', '.gitattributes': 'log -merge\n', 'p/.gitattributes': 'log merge=union\n' }
    const planned = await planFork(start, { 'p/q/log': 'start\nmain\n' }, { 'p/q/log': 'start\nwork\n' })
    expect(planned.kind).toBe('merge-commit')
  })

  test('uses the .gitattributes of the base, like a work tree on the base', async () => {
    const withUnion = { '.gitattributes': 'log merge=union\n' }
    expect(await planFork({ log: 'start\n' }, { ...sides[0], ...withUnion }, sides[1])).toMatchObject({
      kind: 'merge-commit',
    })
    expect(await planFork({ log: 'start\n' }, sides[0], { ...sides[1], ...withUnion })).toMatchObject({
      kind: 'conflicted',
      files: ['log'],
    })
  })

  test('runs no program for a named merge driver', async () => {
    const start = { log: 'start\n', '.gitattributes': 'log merge=evil\n' }
    expect(await planFork(start, ...sides)).toMatchObject({ kind: 'conflicted', files: ['log'] })
  })

  test('ignores a .gitattributes that is a symbolic link', async () => {
    const start: Files = { log: 'start\n', '.gitattributes': { mode: '120000', content: '/etc/passwd' } }
    expect(await planFork(start, ...sides)).toMatchObject({ kind: 'conflicted', files: ['log'] })
  })

  test('applies .gitattributes in a folder whose name is not UTF-8', async () => {
    const folder = '"caf\\351'
    const start = { [`${folder}/log"`]: 'start\n', [`${folder}/.gitattributes"`]: 'log merge=union\n' }
    expect(
      await planFork(start, { [`${folder}/log"`]: 'start\nmain\n' }, { [`${folder}/log"`]: 'start\nwork\n' }),
    ).toMatchObject({ kind: 'merge-commit' })
  })
})

describe('odd file names', () => {
  const names = [
    'new\nline',
    'quo"te',
    'tab\there',
    '-dash',
    '--upload-pack=x',
    ' space ',
    'ünï/çødé',
    'back\\slash',
    '$(id)',
    'a~HEAD',
    '1',
    '*?[x]',
    ':colon',
  ]

  test.each(names)('reports a conflict of %j under its own name', async (name) => {
    const repo = await repoWith({ main: { [name]: '1\n' } })
    const { base, head } = await diverge(repo, 'work', name)
    expect(await plan(repo, base, head)).toEqual({ kind: 'conflicted', files: [name] })
  })

  test('reports a name that is not UTF-8 as git quotes it', async () => {
    const repo = await repoWith({ main: { '"caf\\351.txt"': '1\n', '"caf\\350.txt"': '1\n' } })
    const { base, head } = await diverge(repo, 'work', '"caf\\351.txt"')
    expect(await plan(repo, base, head)).toEqual({ kind: 'conflicted', files: ['"caf\\351.txt"'] })
  })
})

describe('verifying a merge before a branch moves', () => {
  test('detects a result that was merged with a wrong ancestor', async () => {
    const { repo, baseSha, headSha } = await forked({ a: '1\n', b: '1\n' }, { a: '2\n' }, { b: '2\n' })
    const ancestor = (await mergeBase(repo, baseSha, headSha)) as Sha
    // head's whole tree, as if base had changed nothing: base's change is lost.
    const tree = await gitLine(repo.dir, ['rev-parse', `${headSha}^{tree}`])
    const env = { GIT_AUTHOR_NAME: 'x', GIT_AUTHOR_EMAIL: 'x', GIT_COMMITTER_NAME: 'x', GIT_COMMITTER_EMAIL: 'x' }
    const resultSha = await gitLine(repo.dir, ['commit-tree', '-p', baseSha, '-p', headSha, tree], {
      env,
      input: 'wrong',
    })
    expect(await mergeVerificationFailure(repo, { baseSha, headSha, ancestor, resultSha })).toContain('"a"')
    const right = await plan(repo, baseSha, headSha)
    if (right.kind !== 'merge-commit') throw new Error(right.kind)
    expect(await mergeVerificationFailure(repo, { baseSha, headSha, ancestor, resultSha: right.resultSha })).toBeNull()
  })
})
