import { durable } from './durable.ts'
import type { Repository } from './repository.ts'
import { askStanding, endStandingOf, type StandingKind } from './standing.ts'

/**
 * Takes locks, but for one transaction only. It lives shorter than the others: whoever finds a lock that a crash left
 * behind believes it held as long as a git of another server is alive that is older than the lock.
 */
const updater: StandingKind = {
  name: 'refs',
  args: ['update-ref', '--stdin', '-z'],
  config: [
    ...durable({ dir: '', remote: null }),
    // A ref that somebody else holds is waited for by a git of its own.
    ['core.filesRefLockTimeout', '200'],
    ['core.packedRefsTimeout', '200'],
  ],
  lifeMs: 20_000,
}

const done = 'start: ok\nprepare: ok\ncommit: ok\n'

/**
 * Changes refs of a managed repository, all or none, by a git that is running already. false: it did not say that it
 * did. It may have, so only what may be done twice is asked of it: an update that knows where its ref has to be before.
 */
export async function updateByStanding(repo: Repository, input: string): Promise<boolean> {
  if (repo.remote) return false
  const answer = await askStanding(repo, updater, `start\0${input}prepare\0commit\0`, (bytes) => {
    const said = bytes.toString('latin1')
    if (said === done) return true
    if (!done.startsWith(said)) throw new Error('git update-ref gave other answers than it was asked for.')
    return undefined
  })
  return answer ?? false
}

/** Waits until none of ours is at work on the refs in this folder, nor stands by. */
export function endUpdaters(dir: string): Promise<void> {
  return endStandingOf(updater, dir)
}
