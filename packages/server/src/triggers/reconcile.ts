/** Brings the rows of the triggers to what the manifest of the default branch says. */
import type { ManifestTrigger } from '@svc/contract'
import { sql } from 'kysely'
import type { DbOrTransaction } from '../db/schema.ts'
import type { Deps } from '../deps.ts'
import { type DefaultBranchRow, getDefaultBranch } from '../projects/default-branch.ts'
import { enterSlotsOf } from './due.ts'
import { firstDueAt } from './plan-slots.ts'
import { deleteTriggers, lockTriggers, type TriggerRow, upsertTrigger } from './store.ts'

type ReconcileDeps = Pick<Deps, 'db' | 'now' | 'newId'>

/** The job: every project whose default branch is not the one its triggers were made from. */
export async function reconcileTriggers(deps: ReconcileDeps & Pick<Deps, 'log'>): Promise<void> {
  const { rows } = await sql<{ project_id: string }>`
    select d.project_id from default_branches d left join trigger_reconciliations r on r.project_id = d.project_id
    where r.project_id is null or r.sha is distinct from d.sha or r.branch <> d.branch limit 100`.execute(deps.db)
  for (const { project_id } of rows) await reconcileProject(deps, project_id)
}

/** What is still due of the old is entered in the ledger first. */
export async function reconcileProject(deps: ReconcileDeps, projectId: string): Promise<void> {
  await deps.db.transaction().execute(async (trx) => {
    // Two servers take turns, and the second finds it done. Who fires a trigger meanwhile has it locked and refers to the
    // project: shut out of that, it and we would wait for each other.
    await trx.selectFrom('projects').select('project_id').where('project_id', '=', projectId).forNoKeyUpdate().execute()
    const now = deps.now()
    const seen = await getDefaultBranch(trx, projectId)
    if (seen === null || (await isReconciled(trx, seen))) return
    // A thousand missed ones are entered in portions: then the job comes again.
    if (!(await enterWhatIsDue(deps, trx, await lockTriggers(trx, projectId), now))) return
    const rows = await lockTriggers(trx, projectId)
    const wanted = seen.manifest.triggers
    const gone = rows.filter((row) => !wanted.some(({ slug }) => slug === row.slug)).map((row) => row.slug)
    await deleteTriggers(trx, projectId, gone)
    const mergedBy = await whoMerged(trx, seen)
    for (const [position, definition] of wanted.entries()) {
      const row = rows.find(({ slug }) => slug === definition.slug) ?? null
      await upsertTrigger(trx, { ...rowOf(definition, row, { now, mergedBy }), project_id: projectId, position })
    }
    await trx
      .insertInto('trigger_reconciliations')
      .values({ project_id: projectId, sha: seen.sha, branch: seen.branch })
      .onConflict((conflict) => conflict.column('project_id').doUpdateSet({ sha: seen.sha, branch: seen.branch }))
      .execute()
  })
}

/**
 * Waiting until nothing is due could be waiting for ever: where many triggers come at different seconds, or servers are
 * slow, there is always one. Nobody has these slots in hand, so whoever looks for forsaken ones fires them. False: more is due.
 */
async function enterWhatIsDue(
  deps: Pick<Deps, 'newId'>,
  trx: DbOrTransaction,
  rows: TriggerRow[],
  now: Date,
): Promise<boolean> {
  const nobody = { newId: deps.newId, instanceId: deps.newId() }
  const isDue = (time: Date) => time.getTime() <= now.getTime()
  let isAll = true
  for (const row of rows) {
    if (!row.enabled || row.next_due_at === null || !isDue(new Date(row.next_due_at))) continue
    const { nextDueAt } = await enterSlotsOf(nobody, trx, { ...row, next_due_at: row.next_due_at }, now)
    isAll &&= nextDueAt === null || !isDue(nextDueAt)
  }
  return isAll
}

async function isReconciled(trx: DbOrTransaction, seen: DefaultBranchRow): Promise<boolean> {
  const done = await trx
    .selectFrom('trigger_reconciliations')
    .select(['sha', 'branch'])
    .where('project_id', '=', seen.project_id)
    .executeTakeFirst()
  return done !== undefined && done.sha === seen.sha && done.branch === seen.branch
}

/** A schedule that is new, was changed or was switched on begins now. Any other keeps the slot it waits for. */
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
/** PostgreSQL keeps jsonb in an order of its own. */
const text = (definition: ManifestTrigger) =>
  JSON.stringify(Object.entries(definition).sort(([a], [b]) => (a < b ? -1 : 1)))

/** Null when the branch was not moved by a merge of ours: then nobody of ours stands for it. */
async function whoMerged(trx: DbOrTransaction, seen: DefaultBranchRow): Promise<string | null> {
  if (seen.sha === null) return null
  const cr = await trx
    .selectFrom('change_requests')
    .select('merged_by')
    .where('project_id', '=', seen.project_id)
    .where('status', '=', 'merged')
    .where('merge_commit_sha', '=', seen.sha)
    .executeTakeFirst()
  return cr?.merged_by ?? null
}
