import type { Deps } from '../deps.ts'
import { pause } from '../pause.ts'
import { recordLostLocks } from './instance-store.ts'

/** While other servers run. */
const everyMs = 1_000
/** While this server is alone, until which it detects another one. */
const aloneMs = 5_000

/**
 * Looks at the locks of the other servers until `signal` aborts, and calls `onDeath` when one of them has died, so that
 * its work is taken over at once.
 */
export async function watchInstances(
  deps: Pick<Deps, 'db' | 'instanceId' | 'heartbeat' | 'log'>,
  signal: AbortSignal,
  onDeath: () => Promise<unknown>,
): Promise<void> {
  const { db, instanceId, heartbeat, log } = deps
  let before: string[] = []
  while (!signal.aborted) {
    try {
      // A server that could not hold its own lock does not judge those of others: they may be on their way back, too.
      if (heartbeat.mayJudge()) {
        const live = await recordLostLocks(db, { instanceId, deadAfterSeconds: heartbeat.deadAfterSeconds() })
        const gone = before.filter((id) => !live.includes(id))
        before = live
        if (gone.length > 0) {
          log.info({ instances: gone }, 'other servers ended; going on with what they had in hand')
          await onDeath()
        }
      }
    } catch (error) {
      // The heartbeat logs a database that is unavailable.
      log.debug({ err: error }, 'failed to look at the other servers; retrying')
    }
    await pause(before.length > 0 ? everyMs : aloneMs, signal)
  }
}
