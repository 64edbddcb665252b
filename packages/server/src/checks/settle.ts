/** Changes of runs together with the events that tell of them. */
import type { DbOrTransaction } from '../db/schema.ts'
import type { Deps } from '../deps.ts'
import { recordEvent, shortened } from '../events/record.ts'
import { claimRuns, type Held, moveRun, pairsOfTree, type RunRow } from './store.ts'

/** Once for each open change request that shows it. */
async function tell(trx: DbOrTransaction, type: 'check.started' | 'check.finished', run: RunRow): Promise<void> {
  const { project_id, name: check, run_id, attempt, status, tree_sha } = run
  const reason = run.reason === null ? null : shortened(run.reason)
  for (const { cr_id, number } of await pairsOfTree(trx, run))
    await recordEvent(trx, {
      project_id,
      type,
      data: { cr_id, number, check, run_id, attempt, status, tree_sha, reason },
    })
}

export async function claim(deps: Pick<Deps, 'db'>, input: Parameters<typeof claimRuns>[1]): Promise<RunRow[]> {
  return deps.db.transaction().execute(async (trx) => {
    const runs = await claimRuns(trx, input)
    for (const run of runs) await tell(trx, 'check.started', run)
    return runs
  })
}

/** Null when somebody cancelled it or took it over. */
export async function finish(
  deps: Pick<Deps, 'db'>,
  held: Held,
  end: Pick<RunRow, 'exit_code' | 'reason'> & { status: 'passed' | 'failed' | 'error' | 'cancelled' },
): Promise<RunRow | null> {
  return deps.db.transaction().execute(async (trx) => {
    const run = await moveRun(trx, held, { ...end, ended_at: new Date().toISOString() })
    if (run !== null) await tell(trx, 'check.finished', run)
    return run
  })
}

/** A server that stops lets others have it, and that counts as no start. */
export async function release(deps: Pick<Deps, 'db'>, held: Held): Promise<void> {
  await moveRun(deps.db, held, { status: 'queued', starts: Math.max(0, held.starts - 1), sandbox_id: null })
}
