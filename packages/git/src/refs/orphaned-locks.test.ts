import { afterEach, describe, expect, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { git, startGit } from '../process/git.ts'
import { landMerge } from '../merge/merge.ts'
import { fetchObjects } from '../mirror/repair.ts'
import { openMirror } from '../mirror/mirror.ts'
import { tidyRepository } from '../mirror/tidy.ts'
import { removeOrphanedLocks } from './orphaned-locks.ts'
import { moveRefs } from './refs.ts'
import { commit, makeRepo, tempDir, type TestRepository } from '../testing.ts'

const cleanups: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0)) await cleanup()
})

async function repository(): Promise<TestRepository> {
  const repo = await makeRepo({ main: { a: '1\n' }, work: { b: '2\n' } })
  cleanups.push(repo.remove)
  return repo
}

/** A git that works in the repository for as long as its input is open, and so may hold any lock that comes after it. */
async function workIn(repo: TestRepository, args = ['update-ref', '--stdin']) {
  const child = await startGit(repo.dir, args)
  return async () => {
    child.stdin.end()
    await child.ended
  }
}

describe('orphaned locks of git', () => {
  test('does not mistake a git that only reads for the owner of a lock', async () => {
    const repo = await repository()
    const stop = await workIn(repo, ['cat-file', '--batch-check'])
    const [oldSha, newSha] = [await repo.tip('main'), await repo.tip('work')]
    await Bun.write(join(repo.dir, 'refs/heads/main.lock'), '')
    expect(await moveRefs(repo, [{ ref: 'refs/heads/main', oldSha, newSha }])).toEqual({ kind: 'moved' })
    await stop()
  })

  test('moves a branch despite an orphaned lock, however recent', async () => {
    const repo = await repository()
    const [oldSha, newSha] = [await repo.tip('main'), await repo.tip('work')]
    const lock = join(repo.dir, 'refs/heads/main.lock')
    await Bun.write(lock, '')
    expect(await moveRefs(repo, [{ ref: 'refs/heads/main', oldSha, newSha }])).toEqual({ kind: 'moved' })
    expect(existsSync(lock)).toBe(false)
  }, 120_000)

  test('fetches into a mirror and maintains it despite orphaned locks', async () => {
    const repo = await repository()
    const temp = await tempDir()
    cleanups.push(temp.remove)
    const remote = { url: `file://${repo.dir}`, credential: null, allowProtocols: ['file'] }
    const mirror = await openMirror(join(temp.path, 'm.git'), remote)
    await fetchObjects(mirror, [await repo.tip('main')])
    const sha = await commit(repo, 'main', { c: '1\n' })
    await Bun.write(join(mirror.dir, 'refs/heads/main.lock'), '')
    expect(await fetchObjects(mirror, [sha])).toEqual({ kind: 'present' })
    await Bun.write(join(mirror.dir, 'packed-refs.lock'), '')
    await tidyRepository(mirror)
  }, 120_000)

  test('finds every lock that a crash can leave and touches nothing else', async () => {
    const repo = await repository()
    const locks = ['HEAD.lock', 'packed-refs.lock', 'refs/heads/a/b.lock', 'objects/info/commit-graphs/x.lock']
    await mkdir(join(repo.dir, 'refs/heads/a'), { recursive: true })
    for (const lock of [...locks, 'other/main.lock']) await Bun.write(join(repo.dir, lock), '')
    const removed = await removeOrphanedLocks(repo.dir)
    expect(removed.toSorted()).toEqual(locks.map((lock) => join(repo.dir, lock)).toSorted())
    expect(existsSync(join(repo.dir, 'other/main.lock'))).toBe(true)
    expect(await removeOrphanedLocks(repo.dir)).toEqual([])
  })
})

describe('partially written objects', () => {
  const draftOf = (pid: number) => `objects/ab/tmp_obj_svc-${pid}-0123456789ab`

  test('keeps a partial object while the server or git that may write it is alive', async () => {
    const repo = await repository()
    const other = Bun.spawn(['sleep', '60'])
    const stop = await workIn(repo, ['merge-tree', '--stdin', '--write-tree'])
    for (const name of [draftOf(process.pid), draftOf(other.pid), 'objects/ab/tmp_obj_XyZ123'])
      await Bun.write(join(repo.dir, name), 'half')
    expect(await removeOrphanedLocks(repo.dir)).toEqual([])
    await stop()
    expect(await removeOrphanedLocks(repo.dir)).toEqual([join(repo.dir, 'objects/ab/tmp_obj_XyZ123')])
    other.kill()
    await other.exited
    expect(await removeOrphanedLocks(repo.dir)).toEqual([join(repo.dir, draftOf(other.pid))])
  }, 120_000)
})

describe('locks that a live git may own', () => {
  test('keeps the lock, and asks the caller of a merge to retry without showing a local path', async () => {
    const repo = await repository()
    const stop = await workIn(repo)
    const lock = join(repo.dir, 'refs/heads/main.lock')
    await Bun.write(lock, '')
    const [baseSha, resultSha] = [await repo.tip('main'), await repo.tip('work')]
    const outcome = await landMerge(repo, { baseRef: 'main', baseSha, resultSha })
    expect(outcome).toEqual({
      kind: 'unknown',
      reason: 'Another git process has locked the branches of the repository.',
    })
    expect(existsSync(lock)).toBe(true)
    expect(await repo.tip('main')).toBe(baseSha)
    await stop()
    expect(await removeOrphanedLocks(repo.dir)).toEqual([lock])
  }, 120_000)

  test('waits for the lock longer than git does', async () => {
    const repo = await repository()
    const stop = await workIn(repo)
    const lock = join(repo.dir, 'refs/heads/main.lock')
    await Bun.write(lock, '')
    const [baseSha, resultSha] = [await repo.tip('main'), await repo.tip('work')]
    const landing = landMerge(repo, { baseRef: 'main', baseSha, resultSha })
    // Ten times what git waits by itself: another git that is started meanwhile takes longer than nothing.
    for (let n = 0; n < 100; n++) await git(null, ['--version'])
    await rm(lock)
    expect(await landing).toEqual({ kind: 'landed' })
    await stop()
  }, 120_000)
})
