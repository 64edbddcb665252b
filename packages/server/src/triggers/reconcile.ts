/** Updates the triggers to match the manifest of the default branch. */
import type { ManifestTrigger } from '@svc/contract'
import { userWhoMerged } from '../change-requests/merged-by-store.ts'
import {
  isReconciled,
  projectsAtOnce,
  projectsToReconcile,
  recordReconciliation,
  serializeOnProject,
} from '../db/reconciliations.ts'
import type { DbOrTransaction } from '../db/schema.ts'
import type { Deps } from '../deps.ts'
import { getDefaultBranch } from '../projects/default-branch.ts'
import { insertSlotsOf } from './fire-due.ts'
import { firstDueAt } from './plan-slots.ts'
import { deleteTriggers, lockTriggers, type TriggerRow, upsertTrigger } from './store.ts'

const done = 'trigger_reconciliations'

type ReconcileDeps = Pick<Deps, 'db' | 'now' | 'newId'>

/** The job: reconciles every project whose default branch moved. `again` when there may be more. */
export async function reconcileTriggers(
  deps: ReconcileDeps & Pick<Deps, 'log'>,
  changed: ReadonlySet<string> | 'all' = 'all',
): Promise<'again' | null> {
  const moved = await projectsToReconcile(deps.db, done, changed)
  let isAll = moved.length < projectsAtOnce
  for (const projectId of moved) isAll = (await reconcileProject(deps, projectId)) && isAll
  return isAll ? null : 'again'
}

/** Inserts the pending slots of the old schedule into the ledger first. False when more of them are due. */
export async function reconcileProject(deps: ReconcileDeps, projectId: string): Promise<boolean> {
  return deps.db.transaction().execute(async (trx) => {
    // A server that fires a trigger inserts rows while it holds the trigger, so a stronger lock would deadlock with it.
    await serializeOnProject(trx, projectId)
    const now = deps.now()
    const seen = await getDefaultBranch(trx, projectId)
    if (seen === null || (await isReconciled(trx, done, seen))) return true
    // Many missed slots are inserted in portions; the job continues in its next run.
    if (!(await insertPendingSlots(deps, trx, await lockTriggers(trx, projectId), now))) return false
    const rows = await lockTriggers(trx, projectId)
    const wanted = seen.manifest.triggers
    const gone = rows.filter((row) => !wanted.some(({ slug }) => slug === row.slug)).map((row) => row.slug)
    await deleteTriggers(trx, projectId, gone)
    const mergedBy = seen.sha === null ? null : await userWhoMerged(trx, projectId, seen.sha)
    for (const [position, definition] of wanted.entries()) {
      const row = rows.find(({ slug }) => slug === definition.slug) ?? null
      await upsertTrigger(trx, { ...rowOf(definition, row, { now, mergedBy }), project_id: projectId, position })
    }
    await recordReconciliation(trx, done, seen)
    return true
  })
}

/**
 * Inserts pending slots instead of waiting for none to be due, which may never happen with many triggers. The slots
 * belong to no server, so the job for orphaned slots fires them. False when more are due.
 */
async function insertPendingSlots(deps: Pick<Deps, 'newId'>, trx: DbOrTransaction, rows: TriggerRow[], now: Date) {
  const noServer = { newId: deps.newId, instanceId: deps.newId() }
  const isDue = (time: Date) => time.getTime() <= now.getTime()
  let isAll = true
  for (const row of rows) {
    if (!row.enabled || row.next_due_at === null || !isDue(new Date(row.next_due_at))) continue
    const { nextDueAt } = await insertSlotsOf(noServer, trx, { ...row, next_due_at: row.next_due_at }, now)
    isAll &&= nextDueAt === null || !isDue(nextDueAt)
  }
  return isAll
}

/** A new, changed or enabled schedule starts now. Any other keeps its next slot. */
function rowOf(
  definition: ManifestTrigger,
  row: TriggerRow | null,
  { now, mergedBy }: { now: Date; mergedBy: string | null },
) {
  const isSame = row !== null && text(row.definition) === text(definition)
  const keeps = row !== null && row.enabled && scheduleOf(row.definition) === scheduleOf(definition)
  const next = keeps ? row.next_due_at : (firstDueAt(definition, now)?.toISOString() ?? null)
  return {
    slug: definition.slug,
    type: definition.type,
    definition: JSON.stringify(definition),
    enabled: definition.enabled,
    appeared_at: keeps ? row.appeared_at : now,
    next_due_at: definition.enabled && definition.type === 'cron' ? next : null,
    run_as: isSame ? row.run_as : mergedBy,
  }
}

const scheduleOf = ({ type, cron, run_at, timezone }: ManifestTrigger) => JSON.stringify([type, cron, run_at, timezone])
/** Sorts keys, because PostgreSQL reorders those of jsonb. */
const text = (definition: ManifestTrigger) =>
  JSON.stringify(Object.entries(definition).sort(([a], [b]) => (a < b ? -1 : 1)))
