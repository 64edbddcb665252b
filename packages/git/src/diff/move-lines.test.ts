import { afterAll, beforeAll, expect, test } from 'bun:test'
import { commit, makeRepo, type TestRepository } from '../testing.ts'
import { moveLines } from './move-lines.ts'

const lines = (...more: string[]) => `${more.join('\n')}\n`
let repo: TestRepository
let from: string
let to: string
const at = (path: string, first: number, last = first) => ({ path, first, last })

beforeAll(async () => {
  const poem = ['one', 'two', '-- three', 'four', 'five', 'six', 'seven', 'eight', 'nine', 'ten']
  repo = await makeRepo({
    main: {
      'a.txt': lines(...poem),
      'same.txt': lines('same'),
      'gone.txt': lines('gone'),
      'old name.txt': lines(...poem),
      'end.txt': 'one\ntwo',
      'späte.txt': lines('one', 'two'),
      'image.png': Uint8Array.of(0, 1, 2),
    },
  })
  from = await repo.tip('main')
  await commit(repo, 'main', {
    'a.txt': lines('zero', 'one', 'two', 'four', 'five', 'SIX', 'seven', 'eight', 'nine', 'nine and a half', 'ten'),
    'gone.txt': null,
    'old name.txt': null,
    'new name.txt': lines('zero', ...poem),
    'end.txt': 'one\ntwo\nthree',
    'späte.txt': lines('zero', 'one', 'two'),
    'image.png': Uint8Array.of(0, 1, 3),
  })
  to = await repo.tip('main')
})
afterAll(() => repo.remove())

test.each<[string, [string, number, number?], [string, number, number?] | null]>([
  ['shifts a line below an added one', ['a.txt', 1], ['a.txt', 2]],
  ['loses a removed line, even one that looks like a header', ['a.txt', 3], null],
  ['loses a changed line', ['a.txt', 6], null],
  ['loses a range that contains a changed line', ['a.txt', 5, 7], null],
  ['keeps a range between changes', ['a.txt', 7, 9], ['a.txt', 7, 9]],
  ['loses a range that a line was added to', ['a.txt', 9, 10], null],
  ['shifts the last line', ['a.txt', 10], ['a.txt', 11]],
  ['keeps an unchanged file', ['same.txt', 1], ['same.txt', 1]],
  ['loses a deleted file', ['gone.txt', 1], null],
  ['follows a renamed file', ['old name.txt', 10], ['new name.txt', 11]],
  ['loses a last line that got a line end', ['end.txt', 2], null],
  ['keeps the line before it', ['end.txt', 1], ['end.txt', 1]],
  ['reads a name beyond ASCII', ['späte.txt', 2], ['späte.txt', 3]],
])('%s', async (_, place, expected) => {
  const [found] = await moveLines(repo, { fromSha: from, toSha: to }, [at(...place)])
  expect(found ?? null).toEqual(expected === null ? null : at(...expected))
})

test('finds the lines again in the other direction, and everything in the same commit', async () => {
  expect(await moveLines(repo, { fromSha: to, toSha: from }, [at('new name.txt', 11)])).toEqual([
    at('old name.txt', 10),
  ])
  expect(await moveLines(repo, { fromSha: to, toSha: to }, [at('a.txt', 6)])).toEqual([at('a.txt', 6)])
})
