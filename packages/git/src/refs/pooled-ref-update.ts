import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { readRef } from './disk-refs.ts'
import { syncPaths } from '../objects/durable.ts'
import { isZero, type RefValue, type Repository } from '../repository.ts'
import { endPooledGitOf, type PooledGitKind, talkToPooledGit } from '../process/pooled-git.ts'

/**
 * Takes locks, but only for one transaction. Its lifetime is short: a lock left by a crash counts as held as long as
 * another git process is older than the lock.
 */
const updater: PooledGitKind = {
  name: 'refs',
  args: ['update-ref', '--stdin', '-z'],
  config: [
    // This package syncs all written files together; git would sync them one by one.
    ['core.fsync', 'none'],
    // A separate git process waits for refs that another process holds.
    ['core.filesRefLockTimeout', '200'],
    ['core.packedRefsTimeout', '200'],
  ],
  lifeMs: 20_000,
}

/**
 * Updates refs of a managed repository, all or none, with a pooled git process. false: not confirmed. The update may
 * still have happened, so use it only for updates that may be repeated: those that name the ref's old value. `values`
 * are all the refs that `input` sets. Nothing moves until `before` is done.
 */
export async function updateRefsInPooledGit(
  repo: Repository,
  input: string,
  values: RefValue[],
  before: Promise<unknown> | null = null,
): Promise<boolean> {
  if (repo.remote || values.some(({ sha }) => isZero(sha))) return false
  const answer = await talkToPooledGit(repo, updater, async (ask) => {
    await ask(`start\0${input}prepare\0`, exactly('start: ok\nprepare: ok\n'))
    const [mayMove] = await Promise.all([before === null || isDoneSoon(before), syncLocks(repo, values)])
    if (mayMove) await ask('commit\0', exactly('commit: ok\n'))
    else await ask('abort\0', exactly('abort: ok\n'))
    return mayMove
  })
  return answer ?? false
}

/** The refs are locked meanwhile. Other git processes wait 100 ms for a lock before they give up. */
const lockedMsMax = 50

/** Also false when the work fails; its error goes to the caller, which awaits it itself. */
function isDoneSoon(work: Promise<unknown>): Promise<boolean> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(false), lockedMsMax)
    const clear = () => clearTimeout(timer)
    work.then(
      () => resolve(true),
      () => resolve(false),
    )
    work.then(clear, clear)
  })
}

/**
 * Each new value is in the lock file of its ref, which becomes the ref. Otherwise (a symbolic ref, another ref
 * storage) this fails, and a separate git process does everything.
 */
async function syncLocks(repo: Repository, values: RefValue[]): Promise<void> {
  const written: string[] = []
  for (const { ref, sha } of values) {
    const lock = `${join(repo.dir, ref)}.lock`
    const text = readFileSync(lock, 'utf8')
    if (text === `${sha}\n`) written.push(lock)
    // A ref that already has its value is locked and unchanged.
    else if (text !== '' || (await readRef(repo.dir, ref)) !== sha) throw new Error(`${ref} is stored in another way.`)
  }
  await syncPaths(written)
}

function exactly(expected: string): (bytes: Buffer) => true | undefined {
  return (bytes) => {
    const text = bytes.toString('latin1')
    if (text === expected) return true
    if (!expected.startsWith(text)) throw new Error('git update-ref gave an unexpected answer.')
    return undefined
  }
}

/** Waits until no pooled process of ours works on the refs in this folder, and ends the idle one. */
export function endUpdaters(dir: string): Promise<void> {
  return endPooledGitOf(updater, dir)
}
