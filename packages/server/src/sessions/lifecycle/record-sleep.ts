import type { Deps } from '../../deps.ts'
import { updateSandbox } from '../../sandboxes/store.ts'
import type { Wake } from '../conversation/rest.ts'
import { appendPhase } from './store.ts'

/** Changes of one sandbox are recorded in their order. */
export function recordSleep(
  { db, localLocks }: Pick<Deps, 'db' | 'localLocks'>,
  { sandboxId, ...of }: { sandboxId: string; session_id: string; generation: number },
  { since, wake }: { since: Date | null; wake: Wake | null },
): Promise<void> {
  return localLocks.run(`sleep ${sandboxId}`, () =>
    db.transaction().execute(async (trx) => {
      await updateSandbox(trx, sandboxId, { asleep_since: since })
      if (wake === null) return
      await appendPhase(trx, of, { name: 'wake', started_at: wake.startedAt, ms: wake.ms, error: null, note: null })
    }),
  )
}
