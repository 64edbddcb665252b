import { afterAll, expect, test } from 'bun:test'
import { commit, makeRepo } from '../testing.ts'
import { listHistory } from './file-history.ts'

const text = Array.from({ length: 30 }, (_, at) => `line ${at}\n`).join('')
const repo = await makeRepo({ main: { 'first.txt': text, 'other.txt': 'o\n' } })
afterAll(() => repo.remove())

test('follows a file through its renames, in pages that begin under any of its names', async () => {
  await commit(repo, 'main', { 'first.txt': `${text}a\n` }, { message: 'edit first' })
  await commit(repo, 'main', { 'first.txt': null, 'in/second.txt': `${text}b\n` }, { message: 'rename to second' })
  await commit(repo, 'main', { 'other.txt': 'p\n' }, { message: 'another file' })
  await commit(repo, 'main', { 'in/second.txt': `${text}c\n` }, { message: 'edit second' })
  const sha = await commit(
    repo,
    'main',
    { 'in/second.txt': null, 'third *.txt': `${text}c\n` },
    { message: 'rename to third' },
  )
  const read = async (limit: number, skip = 0, path = 'third *.txt') =>
    (await listHistory(repo, { sha, path, limit, skip })).map((each) => `${each.subject}: ${each.path}`)
  const all = [
    'rename to third: third *.txt',
    'edit second: in/second.txt',
    'rename to second: in/second.txt',
    'edit first: first.txt',
    expect.stringMatching(/: first\.txt$/),
  ]
  expect(await read(10)).toEqual(all)
  for (const limit of [1, 2, 3])
    for (let skip = 0; skip < 7; skip++)
      expect([limit, skip, await read(limit, skip)]).toEqual([limit, skip, all.slice(skip, skip + limit)])
  expect(await read(10, 0, 'other.txt')).toEqual(['another file: other.txt', expect.stringMatching(/: other\.txt$/)])
  expect(await read(10, 0, 'in')).toEqual(['rename to third: in', 'edit second: in', 'rename to second: in'])
  expect(await read(10, 0, 'nowhere')).toEqual([])
})
