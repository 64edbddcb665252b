import { afterAll, describe, expect, test } from 'bun:test'
import { makeRepo, type TestRepository } from '../testing.ts'
import { changedFiles } from './diff.ts'

const made: TestRepository[] = []
afterAll(async () => {
  for (const repo of made) await repo.remove()
}, 120_000)

describe('changedFiles', () => {
  test('lists the changed paths, and counts lines without the patch', async () => {
    const repo = await makeRepo({
      main: { 'a.txt': '1\n', 'b.txt': '1\n' },
      work: { 'a.txt': '2\n', 'c.txt': '1\n2\n' },
    })
    made.push(repo)
    const pair = { baseSha: await repo.tip('main'), headSha: await repo.tip('work') }
    expect(await changedFiles(repo, pair)).toEqual({ paths: ['a.txt', 'c.txt'], additions: 3, deletions: 1 })
    expect(await changedFiles(repo, { baseSha: pair.headSha, headSha: pair.headSha })).toEqual({
      ...{ paths: [], additions: 0, deletions: 0 },
    })
  })
})
