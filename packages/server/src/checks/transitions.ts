/** Changes of runs together with their project events. */
import type { DbOrTransaction } from '../db/schema.ts'
import type { Deps } from '../deps.ts'
import { recordEvent, shortened } from '../events/record.ts'
import { type ClaimInput, claimRuns, type Held, moveRun, pairsOfTree, type RunRow } from './store.ts'

async function recordRunEvent(
  trx: DbOrTransaction,
  type: 'check.started' | 'check.finished',
  run: RunRow,
): Promise<void> {
  const { project_id, name: check, run_id, attempt, status, tree_sha } = run
  const reason = run.reason === null ? null : shortened(run.reason)
  for (const { cr_id, number } of await pairsOfTree(trx, run))
    await recordEvent(trx, {
      project_id,
      type,
      data: { cr_id, number, check, run_id, attempt, status, tree_sha, reason },
    })
}

export async function claim(deps: Pick<Deps, 'db'>, input: ClaimInput): Promise<RunRow[]> {
  return deps.db.transaction().execute(async (trx) => {
    const runs = await claimRuns(trx, input)
    for (const run of runs) await recordRunEvent(trx, 'check.started', run)
    return runs
  })
}

export async function finish(
  deps: Pick<Deps, 'db'>,
  held: Held,
  end: Pick<RunRow, 'exit_code' | 'reason'> & { status: 'passed' | 'failed' | 'error' | 'cancelled' },
): Promise<RunRow | null> {
  return deps.db.transaction().execute(async (trx) => {
    const run = await moveRun(trx, held, { ...end, ended_at: new Date().toISOString() })
    if (run !== null) await recordRunEvent(trx, 'check.finished', run)
    return run
  })
}

/** A stopping server queues the run for another one, without counting the start. */
export async function release(deps: Pick<Deps, 'db'>, held: Held): Promise<void> {
  await moveRun(deps.db, held, { status: 'queued', starts: Math.max(0, held.starts - 1), sandbox_id: null })
}
