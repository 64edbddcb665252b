/** All SQL on checks: the trees they run on, and their runs. */
import { createHash } from 'node:crypto'
import type { CheckLogLine, ManifestCheck } from '@svc/contract'
import { sql } from 'kysely'
import { isAtHome } from '../db/home.ts'
import { isServerDead } from '../db/live-instance.ts'
import { isAmong, ofLiveProject } from '../db/live-project.ts'
import { type Changes, deleteRows, findRow, listRows, updateRow, updateRows } from '../db/rows.ts'
import type { DbOrTransaction, NewRow, Row } from '../db/schema.ts'
import type { Deps } from '../deps.ts'
import { recordEvent, shortened } from '../events/record.ts'
import type { LogPosition } from '../redaction/lines.ts'
import { appendLog } from './log-store.ts'
import type { ClaimLimits } from '../sandboxes/workloads.ts'

export type TreeRow = Row<'change_request_trees'>
export type RunRow = Row<'check_runs'>

/** A run that loses its server this often fails. */
export const startsMax = 2

function definitionHash({ name, command }: Pick<ManifestCheck, 'name' | 'command'>): string {
  return createHash('sha256').update(`${name}\0${command}`).digest('hex')
}

const hasChecks = sql`jsonb_array_length(coalesce(d.manifest->'checks', '[]'::jsonb)) > 0`

export interface Unpolled {
  cr_id: string
  project_id: string
  base_sha: string
  head_sha: string
}

/** The projects whose rows changed, or all. */
type Changed = ReadonlySet<string> | 'all'

/** Open change requests of projects with checks whose merge result is unknown since a branch moved. */
export async function unpolledChangeRequests(
  db: DbOrTransaction,
  input: { limit: number; retrySeconds: number; changed: Changed; home: string | null },
): Promise<Unpolled[]> {
  const { rows } = await sql<Unpolled>`
    select c.cr_id, c.project_id, c.base_commit_sha as base_sha, c.head_commit_sha as head_sha
    from change_requests c join default_branches d on d.project_id = c.project_id
    left join change_request_trees t on t.cr_id = c.cr_id
    where c.status = 'open' and ${isAmong(sql.ref('c.project_id'), input.changed)} and ${hasChecks}
      and ${ofLiveProject(sql.ref('c.project_id'))} and ${isAtHome(sql.ref('c.project_id'), input.home)}
      and c.base_commit_sha is not null and c.head_commit_sha is not null
      and (t.cr_id is null or t.base_sha <> c.base_commit_sha or t.head_sha <> c.head_commit_sha
        or (t.kind = 'unavailable' and t.looked_at < now() - make_interval(secs => ${input.retrySeconds}::integer)))
    order by t.looked_at nulls first, c.created_at limit ${input.limit}`.execute(db)
  return rows
}

export function getTree(db: DbOrTransaction, crId: string): Promise<TreeRow | null> {
  return findRow(db, 'change_request_trees', { cr_id: crId })
}

/** Writes nothing for a change request that was deleted meanwhile. */
export async function recordTree(db: DbOrTransaction, row: Omit<NewRow<'change_request_trees'>, 'looked_at'>) {
  await sql`
    insert into change_request_trees (cr_id, project_id, base_sha, head_sha, kind, tree_sha, reason)
    select c.cr_id, c.project_id, ${row.base_sha}, ${row.head_sha}, ${row.kind}::change_request_tree_kind, ${row.tree_sha}, ${row.reason}
    from change_requests c where c.cr_id = ${row.cr_id}
    on conflict (cr_id) do update set base_sha = excluded.base_sha, head_sha = excluded.head_sha,
      kind = excluded.kind, tree_sha = excluded.tree_sha, reason = excluded.reason, looked_at = now()`.execute(db)
}

/** The wanted runs: each check of the default branch on the merge result of each open change request. */
const wantedOf = (changed: Changed) => sql`
  select distinct t.project_id, c.account_id, t.tree_sha, k.value->>'name' as name, k.value->>'command' as command
  from change_request_trees t
  join change_requests c on c.cr_id = t.cr_id and c.status = 'open'
    and c.base_commit_sha = t.base_sha and c.head_commit_sha = t.head_sha
  join default_branches d on d.project_id = t.project_id
  cross join lateral jsonb_array_elements(coalesce(d.manifest->'checks', '[]'::jsonb)) k
  where t.kind = 'tree' and ${isAmong(sql.ref('t.project_id'), changed)} and ${ofLiveProject(sql.ref('t.project_id'))}`

export async function missingRuns(db: DbOrTransaction, { changed, limit }: { changed: Changed; limit: number }) {
  const { rows } = await sql<Pick<RunRow, 'project_id' | 'account_id' | 'tree_sha' | 'name' | 'command'>>`
    select w.* from (${wantedOf(changed)}) w
    left join check_runs r on r.project_id = w.project_id and r.tree_sha = w.tree_sha
      and r.name = w.name and r.command = w.command
    where r.run_id is null or r.status = 'cancelled' limit ${limit}`.execute(db)
  return rows
}

/** Keeps an existing result: the same command ran on the same files. */
export async function wantRun(
  db: DbOrTransaction,
  run: Pick<NewRow<'check_runs'>, 'run_id' | 'account_id' | 'project_id' | 'tree_sha' | 'name' | 'command'>,
): Promise<void> {
  await db
    .insertInto('check_runs')
    .values({ ...run, definition_hash: definitionHash(run) })
    .onConflict((conflict) =>
      conflict
        .columns(['project_id', 'tree_sha', 'definition_hash'])
        .doUpdateSet({ ...asNew, starts: 0 })
        .where('check_runs.status', '=', 'cancelled'),
    )
    .execute()
}

const asNew = {
  ...{ status: 'queued' as const, exit_code: null, reason: null, instance_id: null, sandbox_id: null },
  ...{ started_at: null, ended_at: null, log_cut: false, created_at: sql<string>`now()` },
}

export async function cancelUnwanted(db: DbOrTransaction, changed: Changed): Promise<RunRow[]> {
  const { rows } = await sql<RunRow>`
    update check_runs r set status = 'cancelled', ended_at = now(),
      reason = 'No open change request needs its result any more.'
    where r.status in ('queued', 'running') and ${isAmong(sql.ref('r.project_id'), changed)} and not exists (
      select 1 from (${wantedOf(changed)}) w
      where w.project_id = r.project_id and w.tree_sha = r.tree_sha and w.name = r.name and w.command = r.command)
    returning r.*`.execute(db)
  return rows
}

/** The same number in every version of the program. Claims hold this lock, so that two servers cannot exceed a cap together. */
const claimLock = 7_346_218

export interface ClaimInput extends ClaimLimits {
  perAccount: number
}

/** `sandbox_id`: of the sandbox to go on with; null for a new one. */
export interface Claim extends RunRow {
  was: RunRow['status']
}

/** The given sandboxes with which a server can go on. */
export async function adoptableSandboxes(db: DbOrTransaction, sandboxIds: string[]): Promise<Set<string>> {
  const rows = await listRows(db, 'check_runs', { sandbox_id: sandboxIds, status: 'running' })
  return new Set(rows.flatMap((row) => (row.in_force === null || row.sandbox_id === null ? [] : [row.sandbox_id])))
}

/** Assigns queued and orphaned runs to this server, with a turn for each account. */
export async function claimRuns({ db }: Pick<Deps, 'db'>, input: ClaimInput): Promise<Claim[]> {
  return db.transaction().execute(async (trx) => {
    const runs = await takeRuns(trx, input)
    for (const run of runs) if (run.sandbox_id === null) await recordRunEvent(trx, 'check.started', run)
    return runs
  })
}

async function takeRuns(trx: DbOrTransaction, input: ClaimInput): Promise<Claim[]> {
  const isLeft = sql`coalesce(r.sandbox_id = any(${input.left}::text[]), false)`
  await sql`select pg_advisory_xact_lock(${claimLock})`.execute(trx)
  const { rows } = await sql<Claim>`
    with open as (
      -- Our own heartbeat proves nothing: a machine that wakes from sleep has an old one.
      select r.run_id, r.project_id, r.account_id, r.created_at, r.status, r.status = 'running' and case
          when r.instance_id = ${input.instanceId} then not (r.run_id = any(${input.inHand}::uuid[]))
          else ${isServerDead(sql.ref('r.instance_id'), input.staleSeconds)} end as orphaned,
        r.status = 'queued' and not (r.run_id = any(${input.inHand}::uuid[])) as waits
      from check_runs r where r.status in ('queued', 'running')),
    busy as (select account_id, count(*) as running from open where not orphaned and not waits group by account_id),
    ranked as (
      select o.run_id, o.created_at, o.status, o.orphaned, coalesce(b.running, 0) + row_number() over (
        partition by o.account_id order by o.orphaned desc, o.created_at, o.run_id) as place
      from open o left join busy b on b.account_id = o.account_id
      where (o.orphaned or o.waits) and ${isAtHome(sql.ref('o.project_id'), input.home)}),
    chosen as (
      select run_id, status from ranked where place <= ${input.perAccount}
      order by orphaned desc, place, created_at limit ${input.limit})
    update check_runs r set status = 'running', instance_id = ${input.instanceId},
      sandbox_id = case when ${isLeft} then r.sandbox_id end,
      starts = case when ${isLeft} then greatest(r.starts, 1) else r.starts + 1 end,
      started_at = case when ${isLeft} then r.started_at else now() end, reason = null, exit_code = null
    from chosen where chosen.run_id = r.run_id
    returning r.*, chosen.status as was`.execute(trx)
  return rows
}

export async function ownedIds(db: DbOrTransaction, instanceId: string, runIds: string[]): Promise<Set<string>> {
  const rows = await listRows(db, 'check_runs', { run_id: runIds, instance_id: instanceId, status: 'running' })
  return new Set(rows.map(({ run_id }) => run_id))
}

export interface Held {
  runId: string
  instanceId: string
  starts: number
}

/** Null when the run was cancelled or another server claimed it. */
export function moveRun(db: DbOrTransaction, { runId, instanceId, starts }: Held, set: Changes<'check_runs'>) {
  return updateRow(db, 'check_runs', { run_id: runId, instance_id: instanceId, starts, status: 'running' }, set)
}

export async function finishRun(
  { db }: Pick<Deps, 'db'>,
  held: Held,
  end: Pick<RunRow, 'exit_code' | 'reason' | 'status'>,
): Promise<void> {
  await db.transaction().execute(async (trx) => {
    const run = await moveRun(trx, held, { ...end, ended_at: new Date().toISOString() })
    if (run !== null) await recordRunEvent(trx, 'check.finished', run)
  })
}

/** Stores output together with how far it is stored. False when the run was cancelled or another server claimed it. */
export async function appendOutput(
  { db }: Pick<Deps, 'db'>,
  held: Held,
  lines: CheckLogLine[],
  position: LogPosition,
): Promise<boolean> {
  return db.transaction().execute(async (trx) => {
    if ((await moveRun(trx, held, { log_read: JSON.stringify(position) })) === null) return false
    await appendLog(trx, held.runId, lines)
    return true
  })
}

/** A stopping server leaves the run to the next one. If its sandbox is lost meanwhile, this start does not count. */
export async function leaveRun({ db }: Pick<Deps, 'db'>, held: Held): Promise<void> {
  await moveRun(db, held, { starts: Math.max(0, held.starts - 1) })
}

/** A stopping server queues the run for another one, without counting the start. */
export async function releaseRun({ db }: Pick<Deps, 'db'>, held: Held): Promise<void> {
  await moveRun(db, held, { status: 'queued', starts: Math.max(0, held.starts - 1), sandbox_id: null })
}

/** The same for all runs of a project that moves to another server. */
export async function releaseRunsOf(
  db: DbOrTransaction,
  { projectId, instanceId }: { projectId: string; instanceId: string },
): Promise<void> {
  const mine = { project_id: projectId, instance_id: instanceId, status: 'running' } as const
  const starts = sql<number>`greatest(0, starts - 1)`
  await updateRows(db, 'check_runs', mine, { status: 'queued', instance_id: null, sandbox_id: null, starts })
}

async function recordRunEvent(trx: DbOrTransaction, type: 'check.started' | 'check.finished', run: RunRow) {
  const { project_id, name: check, run_id, attempt, status, tree_sha } = run
  const reason = run.reason === null ? null : shortened(run.reason)
  for (const { cr_id, number } of await pairsOfTree(trx, run))
    await recordEvent(trx, {
      project_id,
      type,
      data: { cr_id, number, check, run_id, attempt, status, tree_sha, reason },
    })
}

/** Queues a finished run again, with an empty log. False while it is queued or running. */
export async function runAgain(trx: DbOrTransaction, runId: string): Promise<boolean> {
  const ended = { run_id: runId, status: ['passed', 'failed', 'error', 'cancelled'] as const }
  const again = { ...asNew, starts: 0, attempt: sql<number>`attempt + 1` }
  if ((await updateRows(trx, 'check_runs', ended, again)) === 0) return false
  await deleteRows(trx, 'check_log_chunks', { run_id: runId })
  return true
}

export async function runsOfTree(db: DbOrTransaction, projectId: string, treeSha: string): Promise<RunRow[]> {
  return listRows(db, 'check_runs', { project_id: projectId, tree_sha: treeSha }, 'created_at')
}

/** The base and head of each open change request whose merge results in the tree. */
export async function pairsOfTree(db: DbOrTransaction, run: Pick<RunRow, 'project_id' | 'tree_sha'>) {
  const { rows } = await sql<{ cr_id: string; number: number; base_sha: string; head_sha: string }>`
    select c.cr_id, c.number, t.base_sha, t.head_sha from change_request_trees t
    join change_requests c on c.cr_id = t.cr_id
    where t.project_id = ${run.project_id} and t.tree_sha = ${run.tree_sha} and t.kind = 'tree' and c.status = 'open'
      and c.base_commit_sha = t.base_sha and c.head_commit_sha = t.head_sha
    order by c.number limit 100`.execute(db)
  return rows
}

/** Deletes old results that no open change request shows. A change request with the same tree runs them again. */
export async function deleteOldRuns(db: DbOrTransaction, days: number): Promise<void> {
  await sql`
    delete from check_runs where run_id in (
      select run_id from check_runs r where r.ended_at < now() - make_interval(days => ${days}::integer)
        and not exists (select 1 from (${wantedOf('all')}) w
          where w.project_id = r.project_id and w.tree_sha = r.tree_sha and w.name = r.name and w.command = r.command)
      order by r.ended_at limit 10000)`.execute(db)
}
