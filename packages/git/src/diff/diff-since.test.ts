import { afterAll, expect, test } from 'bun:test'
import { readdir } from 'node:fs/promises'
import { diffSince } from './diff-since.ts'
import { commit, makeRepo, type TestRepository } from '../testing.ts'

const made: TestRepository[] = []
afterAll(async () => {
  for (const repo of made) await repo.remove()
}, 120_000)

test.each(['sha1', 'sha256'] as const)(
  'compares heads on two bases as if they had one base, with %s',
  async (format) => {
    const repo = await makeRepo({ main: { a: '1\n', b: '1\n' }, earlier: { a: '2\n' } }, { format })
    made.push(repo)
    const sinceSha = await repo.tip('earlier')
    const older = await repo.tip('main')
    const baseSha = await commit(repo, 'main', { b: '2\n', c: 'new\n' })
    const headSha = await commit(repo, 'now', { a: '3\n' })
    const told = await diffSince(repo, { baseSha, headSha, sinceSha })
    expect(told).toMatchObject({ base_moved: true, conflicts: [], files_changed: 1, additions: 1, deletions: 1 })
    expect(told.patch).toContain('-2\n+3')

    // The other way round: onto an older commit of the base.
    const back = await commit(repo, 'back', { a: '4\n' }, { from: older })
    const undone = await diffSince(repo, { baseSha, headSha: back, sinceSha: headSha })
    expect(undone).toMatchObject({ base_moved: true, conflicts: [], files_changed: 1 })
    expect(undone.patch).toContain('-3\n+4')

    const same = await diffSince(repo, { baseSha: older, headSha: back, sinceSha })
    expect(same).toMatchObject({ base_moved: false, files_changed: 1 })
    expect((await readdir(repo.dir)).filter((name) => name.startsWith('svc-scratch'))).toEqual([])
  },
)
