import { expect, test } from 'bun:test'
import { commit, makeRepo } from '../testing.ts'
import { changedLines } from './changed-lines.ts'

test('lists adjacent changed lines of one file, also under a name with pathspec signs and after a rename', async () => {
  const rest = Array.from({ length: 20 }, (_, at) => `same ${at}\n`).join('')
  const repo = await makeRepo({ main: { ':(top)*.txt': `${rest}1\n2\n3\n4\n5\n6\n7\n8\n`, 'other.txt': 'x\n' } })
  const fromSha = await repo.tip('main')
  const toSha = await commit(repo, 'main', {
    ':(top)*.txt': null,
    'moved.txt': `${rest}1\n@@ -1 +1 @@\n3\n4\n5\n6\n8\n--- 9`,
    'other.txt': 'y\n',
  })
  expect(await changedLines(repo, { fromSha, toSha, path: 'moved.txt', oldPath: ':(top)*.txt' })).toEqual([
    { removed: { start: 22, lines: ['2'] }, added: { start: 22, lines: ['@@ -1 +1 @@'] } },
    { removed: { start: 27, lines: ['7'] }, added: { start: 26, lines: [] } },
    { removed: { start: 28, lines: [] }, added: { start: 28, lines: ['--- 9'] } },
  ])
  const added = await changedLines(repo, { fromSha, toSha, path: 'moved.txt', oldPath: null })
  expect(added.map(({ added: { lines } }) => lines.length)).toEqual([28])
  expect(await changedLines(repo, { fromSha: null, toSha, path: 'other.txt', oldPath: null })).toEqual([
    { removed: { start: 0, lines: [] }, added: { start: 1, lines: ['y'] } },
  ])
  await repo.remove()
})
