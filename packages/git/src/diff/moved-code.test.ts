import { afterAll, describe, expect, test } from 'bun:test'
import { commit, type Files, makeRepo, type TestRepository } from '../testing.ts'
import { diffCommits } from './diff.ts'
import { movedBlocks, movesMax } from './moved-code.ts'

const made: TestRepository[] = []
afterAll(async () => {
  for (const repo of made) await repo.remove()
})

async function moves(before: Files, after: Files) {
  const repo = await makeRepo({ main: before })
  made.push(repo)
  const baseSha = await repo.tip('main')
  const headSha = await commit(repo, 'work', after)
  const { patch, files } = await diffCommits(repo, { baseSha, headSha })
  const { moves } = await movedBlocks(
    patch,
    files.map(({ path, old_path }) => ({ before: old_path ?? path, after: path })),
  )
  return moves.map(({ from, to, lines, reindented }) => [
    `${from.path}:${from.line}`,
    `${to.path}:${to.line}`,
    lines,
    ...(reindented ? ['reindented'] : []),
  ])
}

const block = ['export function retry(times: number) {', '  const waited = []', '  return waited.length < times', '}']
const other = Array.from({ length: 12 }, (_, n) => `const filler${n} = ${n}`)
const text = (...lines: string[]) => `${lines.join('\n')}\n`

describe('moved code', () => {
  test('is found within a file and in another one, with the lines of both places', async () => {
    expect(await moves({ 'a.ts': text(...block, ...other) }, { 'a.ts': text(...other, ...block) })).toEqual([
      ['a.ts:1', 'a.ts:13', 4],
    ])
    expect(
      await moves(
        { 'a.ts': text('// a', ...block, ...other) },
        { 'a.ts': text('// a', ...other), 'b.ts': text('// b', ...block) },
      ),
    ).toEqual([['a.ts:2', 'b.ts:2', 4]])
  })

  test('may change its indentation, and says so', async () => {
    const indented = block.map((line) => `  ${line}`)
    expect(
      await moves({ 'a.ts': text(...block, ...other) }, { 'a.ts': text(...other, 'namespace x {', ...indented, '}') }),
    ).toEqual([['a.ts:1', 'a.ts:14', 4, 'reindented']])
  })

  test('is not what only gets another indentation, what is short, and what meets by chance', async () => {
    const indented = block.map((line) => `  ${line}`)
    expect(await moves({ 'a.ts': text(...block) }, { 'a.ts': text('if (x) {', ...indented, '}') })).toEqual([])
    const short = ['const answer = computeTheAnswer()', 'report(answer, toEverybody)']
    expect(await moves({ 'a.ts': text(...short, ...other) }, { 'a.ts': text(...other, ...short) })).toEqual([])
    const braces = ['}', '})', 'x = 1', '}']
    expect(await moves({ 'a.ts': text(...braces, ...other) }, { 'a.ts': text(...other, ...braces) })).toEqual([])
  })

  test('takes the longest of several places', async () => {
    const longer = [...block, 'retry(3).then(report)']
    expect(
      await moves(
        { 'a.ts': text(...block, ...other), 'b.ts': text(...longer, ...other) },
        { 'a.ts': text(...other), 'b.ts': text(...other), 'c.ts': text(...longer) },
      ),
    ).toEqual([['b.ts:1', 'c.ts:1', 5]])
  })

  test('is bounded for a patch that repeats one line, and keeps its first moves', async () => {
    const removed = Array.from({ length: 60_000 }, () => '-  the same line in every place')
    const added = Array.from({ length: 60_000 }, () => '+  the same line in every place')
    const patch = [
      'diff --git a/a b/a',
      '@@ -1,60000 +0,0 @@',
      ...removed,
      'diff --git a/b b/b',
      '@@ -0,0 +1,60000 @@',
      ...added,
      '',
    ].join('\n')
    const paths = [
      { before: 'a', after: 'a' },
      { before: 'b', after: 'b' },
    ]
    expect((await movedBlocks(patch, paths)).moves[0]).toMatchObject({ lines: 60_000 })

    const pieces = Array.from({ length: movesMax + 5 }, (_, n) => block.map((line) => `${line} // ${n}`))
    const many = [
      'diff --git a/a b/a',
      ...pieces.flatMap((lines, n) => [`@@ -${n * 9 + 1},4 +0,0 @@`, ...lines.map((line) => `-${line}`)]),
      'diff --git a/b b/b',
      ...pieces.flatMap((lines, n) => [`@@ -0,0 +${n * 9 + 1},4 @@`, ...lines.map((line) => `+${line}`)]),
    ].join('\n')
    const found = await movedBlocks(many, paths)
    expect([found.moves.length, found.truncated]).toEqual([movesMax, true])
  })
})
