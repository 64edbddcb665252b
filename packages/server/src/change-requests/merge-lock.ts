import { ServiceError } from '@svc/contract'
import { LockBusyError, withLock } from '../db/lock.ts'
import type { Deps } from '../deps.ts'

type Base = { project_id: string; base_ref: string }

/**
 * Merges into one base take turns, in every server on the database. Throws `base_busy` when the turn does not come:
 * behind a host that hangs, or in a line that is too long, nobody waits until their connection is cut.
 */
export async function inTurn<T>(
  deps: Pick<Deps, 'locks' | 'localLocks' | 'config'>,
  { project_id, base_ref }: Base,
  work: () => Promise<T>,
): Promise<T> {
  const waitMs = deps.config.mergeWaitMs
  try {
    return await withLock(deps, `merge ${project_id} ${base_ref}`, work, { waitMs })
  } catch (error) {
    if (!(error instanceof LockBusyError)) throw error
    throw new ServiceError(
      'base_busy',
      `Others are merging into ${JSON.stringify(base_ref)}, and it takes them long.`,
      {
        hint: 'Nothing was changed. Send the same again in a while: what is in line before it may be done by then.',
        detail: { base_ref, waited_seconds: Math.round(waitMs / 1000), retry_after_seconds: 10 },
        cause: error,
      },
    )
  }
}
