import { expect, test } from 'bun:test'
import { changes } from './changes.ts'

test('names what an action recorded only before it without calling it removed', () => {
  const before = { status: 'open', base_commit_sha: 'a'.repeat(40) }
  const after = { status: 'merged', merge_commit_sha: 'b'.repeat(40) }
  expect(changes(before, after)).toEqual([
    'status: open → merged',
    'base commit sha: was aaaaaaaaaa',
    'merge commit sha: bbbbbbbbbb',
  ])
})
