import { afterAll, describe, expect, test } from 'bun:test'
import { makeRepo, type TestRepository } from '../testing.ts'
import { changedFiles, diffCommits } from './diff.ts'

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
    expect(await changedFiles(repo, pair)).toEqual({
      ...{ paths: ['a.txt', 'c.txt'], files: 2, additions: 3, deletions: 1 },
    })
    expect(await changedFiles(repo, { baseSha: pair.headSha, headSha: pair.headSha })).toEqual({
      ...{ paths: [], files: 0, additions: 0, deletions: 0 },
    })
  })

  test('counts a renamed file like its diff, as one, and lists both of its paths', async () => {
    const lines = Array.from({ length: 20 }, (_, n) => `line ${n}\n`)
    const repo = await makeRepo({
      main: { 'old.txt': lines.join('') },
      work: { 'old.txt': null, 'new.txt': [...lines, 'one more\n'].join('') },
    })
    made.push(repo)
    const pair = { baseSha: await repo.tip('main'), headSha: await repo.tip('work') }
    const { files_changed: files, additions, deletions } = await diffCommits(repo, { ...pair, renames: true })
    expect([files, additions, deletions]).toEqual([1, 1, 0])
    expect(await changedFiles(repo, pair)).toEqual({ paths: ['new.txt', 'old.txt'], files, additions, deletions })
  })
})
