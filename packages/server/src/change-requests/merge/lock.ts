import { ServiceError } from '@svc/contract'
import { LockBusyError, withLock } from '../../db/lock.ts'
import type { Deps } from '../../deps.ts'

type Base = { project_id: string; base_ref: string }

/**
 * Merges into one base take turns, across every server on the database. Throws `base_busy` when the turn does not
 * come in time, so that a hanging host or a long queue does not hold a client until its connection is cut.
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
    throw new ServiceError('base_busy', `Other merges into ${JSON.stringify(base_ref)} are taking long.`, {
      hint: 'Nothing was changed. Try again in a moment: the merges ahead of this one may be done by then.',
      detail: { base_ref, waited_seconds: Math.round(waitMs / 1000), retry_after_seconds: 10 },
      cause: error,
    })
  }
}
