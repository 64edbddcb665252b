import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { readRef } from './disk-refs.ts'
import { syncPaths } from './durable.ts'
import { isZero, type RefValue, type Repository } from './repository.ts'
import { endStandingOf, type StandingKind, talkToStanding } from './standing.ts'

/**
 * Takes locks, but for one transaction only. It lives shorter than the others: whoever finds a lock that a crash left
 * behind believes it held as long as a git of another server is alive that is older than the lock.
 */
const updater: StandingKind = {
  name: 'refs',
  args: ['update-ref', '--stdin', '-z'],
  config: [
    // What it writes is synced from here, all files together: it would do that one by one, each waiting for the disk.
    ['core.fsync', 'none'],
    // A ref that somebody else holds is waited for by a git of its own.
    ['core.filesRefLockTimeout', '200'],
    ['core.packedRefsTimeout', '200'],
  ],
  lifeMs: 20_000,
}

/**
 * Changes refs of a managed repository, all or none, by a git that is running already. false: it did not say that it
 * did. It may have, so only what may be done twice is asked of it: an update that knows where its ref has to be before.
 * `values` are what `input` sets, and all it does. Until `before` is done nothing is moved, only made ready.
 */
export async function updateByStanding(
  repo: Repository,
  input: string,
  values: RefValue[],
  before: Promise<unknown> | null = null,
): Promise<boolean> {
  if (repo.remote || values.some(({ sha }) => isZero(sha))) return false
  const answer = await talkToStanding(repo, updater, async (ask) => {
    await ask(`start\0${input}prepare\0`, exactly('start: ok\nprepare: ok\n'))
    const [mayMove] = await Promise.all([before === null || isDoneSoon(before), syncLocks(repo, values)])
    if (mayMove) await ask('commit\0', exactly('commit: ok\n'))
    else await ask('abort\0', exactly('abort: ok\n'))
    return mayMove
  })
  return answer ?? false
}

/** Meanwhile the refs are locked. Others' gits wait a tenth of a second for a lock before they give up. */
const lockedMsMax = 50

/** false also for what went wrong, which is told to whoever waits for it itself. */
function isDoneSoon(work: Promise<unknown>): Promise<boolean> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(false), lockedMsMax)
    work.then(
      () => resolve(true),
      () => resolve(false),
    )
    work.finally(() => clearTimeout(timer)).catch(() => {})
  })
}

/**
 * Each new value now stands in the file of its ref's lock, which becomes the ref. Where it does not (a symbolic ref, a
 * store that keeps refs otherwise) this fails, and a git of its own does it all.
 */
async function syncLocks(repo: Repository, values: RefValue[]): Promise<void> {
  const written: string[] = []
  for (const { ref, sha } of values) {
    const lock = `${join(repo.dir, ref)}.lock`
    const text = readFileSync(lock, 'utf8')
    if (text === `${sha}\n`) written.push(lock)
    // A ref that has its value already is locked and left as it is.
    else if (text !== '' || (await readRef(repo.dir, ref)) !== sha) throw new Error(`${ref} is set in another way.`)
  }
  await syncPaths(written)
}

function exactly(words: string): (bytes: Buffer) => true | undefined {
  return (bytes) => {
    const said = bytes.toString('latin1')
    if (said === words) return true
    if (!words.startsWith(said)) throw new Error('git update-ref gave other answers than it was asked for.')
    return undefined
  }
}

/** Waits until none of ours is at work on the refs in this folder, nor stands by. */
export function endUpdaters(dir: string): Promise<void> {
  return endStandingOf(updater, dir)
}
