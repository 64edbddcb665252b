/** All SQL on apps and their deploys. Each change of a deploy records its event in the same transaction. */
import type { AppDeployStatus, AppLogLine, ProjectEventType } from '@svc/contract'
import { sql } from 'kysely'
import { isAtHome } from '../db/home.ts'
import { isServerDead } from '../db/live-instance.ts'
import { isAmong, ofLiveProject } from '../db/live-project.ts'
import {
  type Changes,
  deleteRows,
  findRow,
  firstRow,
  insertIfNew,
  listRows,
  lockRow,
  updateRows,
  upsertRow,
} from '../db/rows.ts'
import type { DbOrTransaction, NewRow, Row } from '../db/schema.ts'
import type { Deps } from '../deps.ts'
import { recordEvent, shortened } from '../events/record.ts'
import type { LogPosition } from '../redaction/lines.ts'
import { originOf } from '../sandboxes/private-origin.ts'
import { appendLog } from './log/store.ts'
import type { ClaimLimits } from '../sandboxes/workloads.ts'

export type AppRow = Row<'apps'>
export type DeployRow = Row<'app_deploys'>
export type AppKey = Pick<AppRow, 'project_id' | 'slug'>
/** A deploy that this server holds. */
export interface Held {
  deployId: string
  instanceId: string
}

export const pendingStatuses: AppDeployStatus[] = ['queued', 'building', 'starting']
export const liveStatuses: AppDeployStatus[] = ['running', 'restarting']

export async function listApps(db: DbOrTransaction, projectId: string): Promise<AppRow[]> {
  return listRows(db, 'apps', { project_id: projectId }, 'position')
}

export async function getApp(db: DbOrTransaction, projectId: string, slug: string): Promise<AppRow | null> {
  return hasNul(slug) ? null : findRow(db, 'apps', { project_id: projectId, slug })
}

/** Locks the app until the transaction ends, which serializes deploys, stops and switches. */
export async function lockApp(trx: DbOrTransaction, projectId: string, slug: string): Promise<AppRow | null> {
  return hasNul(slug) ? null : lockRow(trx, 'apps', { project_id: projectId, slug })
}

/** PostgreSQL rejects a NUL in text. */
const hasNul = (slug: string) => slug.includes('\0')

export async function getAppByHost(db: DbOrTransaction, host: string): Promise<AppRow | null> {
  const ofHost = db.selectFrom('apps').selectAll().where('host', '=', host)
  return firstRow(ofHost.where(ofLiveProject(sql.ref('apps.project_id'))))
}

export async function lockApps(trx: DbOrTransaction, projectId: string): Promise<AppRow[]> {
  return trx.selectFrom('apps').selectAll().where('project_id', '=', projectId).orderBy('slug').forUpdate().execute()
}

/** False when another app has the host name. */
export function insertApp(trx: DbOrTransaction, row: NewRow<'apps'>): Promise<boolean> {
  return insertIfNew(trx, 'apps', row, ['host'])
}

export async function updateApp(trx: DbOrTransaction, { project_id, slug }: AppKey, set: Changes<'apps'>) {
  await updateRows(trx, 'apps', { project_id, slug }, set)
}

export async function deleteApps(trx: DbOrTransaction, projectId: string, slugs: string[]): Promise<void> {
  await deleteRows(trx, 'apps', { project_id: projectId, slug: slugs })
}

const deploysMax = 50

/** Numbers the deploy, and deletes the oldest deploys with their logs. */
export async function insertDeploy(trx: DbOrTransaction, row: Omit<NewRow<'app_deploys'>, 'number'>) {
  const { next_number } = await trx
    .updateTable('apps')
    .set(({ eb }) => ({ next_number: eb('next_number', '+', 1) }))
    .where((eb) => eb.and({ project_id: row.project_id, slug: row.slug }))
    .returning('next_number')
    .executeTakeFirstOrThrow()
  const number = next_number - 1
  await trx
    .deleteFrom('app_deploys')
    .where((eb) => eb.and({ project_id: row.project_id, slug: row.slug }))
    .where('number', '<=', number - deploysMax)
    .where('status', 'not in', [...pendingStatuses, ...liveStatuses])
    .execute()
  return trx
    .insertInto('app_deploys')
    .values({ ...row, number })
    .returningAll()
    .executeTakeFirstOrThrow()
}

/** The newest of each app stay, so that one can go back to them. */
const deploysKept = 5

export async function deleteOldDeploys(db: DbOrTransaction, days: number): Promise<void> {
  await sql`delete from app_deploys where deploy_id in (
    select deploy_id from (
      select d.*, row_number() over (partition by project_id, slug order by number desc) as rank from app_deploys d) ranked
    where ended_at < now() - make_interval(days => ${days}::integer) and rank > ${deploysKept}
      and status <> all(${[...pendingStatuses, ...liveStatuses]})
    order by ended_at limit 10000)`.execute(db)
}

export function getDeploy(db: DbOrTransaction, deployId: string): Promise<DeployRow | null> {
  return findRow(db, 'app_deploys', { deploy_id: deployId })
}

/** The newest of each app of the project, newest first; of one app when `slug` is given. */
export async function newestDeploys(db: DbOrTransaction, input: { projectId: string; slug?: string; each: number }) {
  const ranked = db
    .selectFrom('app_deploys')
    .selectAll()
    .select(sql<number>`row_number() over (partition by slug order by number desc)`.as('rank'))
    .where('project_id', '=', input.projectId)
    .$if(input.slug !== undefined, (query) => query.where('slug', '=', input.slug!))
  // A live or pending deploy is shown regardless of its rank.
  return db
    .selectFrom(ranked.as('d'))
    .selectAll('d')
    .where(({ or, eb }) =>
      or([eb('rank', '<=', input.each), eb('status', 'in', [...pendingStatuses, ...liveStatuses])]),
    )
    .orderBy('number', 'desc')
    .execute()
}

export function listDeploys(db: DbOrTransaction, { project_id, slug }: AppKey): Promise<DeployRow[]> {
  return listRows(db, 'app_deploys', { project_id, slug }, 'number desc')
}

export function definitionsOf(db: DbOrTransaction, app: { project_id: string; slug?: string }) {
  return db
    .selectFrom('app_deploys')
    .select(['deploy_id', 'slug', 'definition'])
    .where('project_id', '=', app.project_id)
    .$if(app.slug !== undefined, (query) => query.where('slug', '=', app.slug!))
    .execute()
}

/** Ends deploys that were stopped, replaced or disabled, of all apps or of the given one. Needs a transaction. */
export async function endUnwantedDeploys(deps: Pick<Deps, 'config'>, trx: DbOrTransaction, app?: AppKey) {
  // Makes the apps of a deleted project deploy again when it is restored.
  if (app === undefined)
    await sql`delete from app_reconciliations where project_id in (
      select project_id from projects where purge_at is not null)`.execute(trx)
  const isOff = deps.config.appProvider === 'none'
  const isDeleted = sql`not ${ofLiveProject(sql.ref('a.project_id'))}`
  const only =
    app === undefined ? sql`true` : sql`a.project_id = ${app.project_id}::uuid and a.slug = ${app.slug}::text`
  const why = sql`case when ${isOff}::boolean then 'App deployment was turned off on this server.'
    when ${isDeleted} then 'The project was deleted.' when not a.enabled then 'svc.toml disables this app.' else null end`
  await sql`
    update app_deploys d set status = 'cancelled', ended_at = now(), error = ${why}
    from apps a where a.project_id = d.project_id and a.slug = d.slug and ${only}
      and d.status in ('queued', 'building', 'starting')
      and (${isOff}::boolean or ${isDeleted} or not a.enabled or a.desired = 'stopped' or d.number < a.next_number - 1)`.execute(
    trx,
  )
  const { rows } = await sql<DeployRow>`
    with stopped as (
      update app_deploys d set status = 'stopped', ended_at = now(), error = ${why}, next_attempt_at = null
      from apps a where a.project_id = d.project_id and a.slug = d.slug and ${only}
        and d.status in ('running', 'restarting')
        and (${isOff}::boolean or ${isDeleted} or not a.enabled or a.desired = 'stopped')
      returning d.*),
    cleared as (
      update apps set live_deploy_id = null where live_deploy_id in (select deploy_id from stopped))
    select * from stopped`.execute(trx)
  for (const deploy of rows) await recordDeployEvent(deps, trx, 'deploy.stopped', deploy)
}

type DeployEvent = Extract<ProjectEventType, `deploy.${string}`>

/** In the transaction of the change. */
async function recordDeployEvent(
  deps: Pick<Deps, 'config'>,
  trx: DbOrTransaction,
  type: DeployEvent,
  deploy: DeployRow,
): Promise<void> {
  const { project_id, slug, deploy_id, commit_sha } = deploy
  const app = await getApp(trx, project_id, slug)
  const url = app === null ? null : originOf(deps.config, app.host)
  const reason = deploy.error === null ? null : shortened(deploy.error)
  await recordEvent(trx, { project_id, type, data: { app: slug, deploy_id, commit_sha, url, reason } })
}

type EventDeps = Pick<Deps, 'db' | 'config'>

export interface Claim extends DeployRow {
  was: AppDeployStatus
}

/** The given sandboxes with which a server can go on. */
export async function adoptableSandboxes(db: DbOrTransaction, sandboxIds: string[]): Promise<Set<string>> {
  const rows = await listRows(db, 'app_deploys', { sandbox_id: sandboxIds, status: heldStatuses })
  return new Set(rows.flatMap((row) => (row.in_force === null || row.sandbox_id === null ? [] : [row.sandbox_id])))
}

/**
 * Assigns to this server the queued deploys, those of dead servers, and those whose retry pause is over. A deploy whose
 * sandbox is among `left` keeps it and its state; the others have none.
 */
export async function claimDeploys(deps: EventDeps, input: ClaimLimits): Promise<Claim[]> {
  const { instanceId } = input
  const notInHand = sql`not (d.deploy_id = any(${input.inHand}::uuid[]))`
  const isDead = (column: string) => isServerDead(sql.ref(column), input.staleSeconds)
  const isLeft = sql`coalesce(d.sandbox_id = any(${input.left}::text[]), false)`
  const claim = sql<Claim>`
    update app_deploys d set
      instance_id = ${instanceId}, sandbox_id = case when ${isLeft} then d.sandbox_id end, next_attempt_at = null,
      status = case when ${isLeft} then d.status when old.was in ('running', 'restarting') then 'restarting'
        else 'building' end::app_deploy_status,
      error = case when old.was = 'running' and not ${isLeft} then 'The server that ran it stopped.' else d.error end,
      attempts = case when ${isLeft} then d.attempts when old.was = 'running' then 1 else d.attempts + 1 end
    from (
      select d.deploy_id, d.status as was from app_deploys d
      join apps a on a.project_id = d.project_id and a.slug = d.slug
      left join app_deploys l on l.deploy_id = a.live_deploy_id
      where d.status in ('queued', 'building', 'starting', 'running', 'restarting') and ${notInHand}
        and ${isAtHome(sql.ref('d.project_id'), input.home)} and (
        -- The server that runs the live deploy also gets its replacement, so that one server makes the switch.
        (d.status = 'queued' and (l.deploy_id is null or l.instance_id = ${instanceId} or ${isDead('l.instance_id')}))
        or (d.status <> 'queued' and (d.next_attempt_at is null or d.next_attempt_at <= now())
          and (d.instance_id = ${instanceId} or ${isDead('d.instance_id')})))
      order by (d.status in ('running', 'restarting')) desc, d.created_at limit ${input.limit}
      for update of d skip locked) old
    where d.deploy_id = old.deploy_id
    returning d.*, old.was`
  return deps.db.transaction().execute(async (trx) => {
    const { rows } = await claim.execute(trx)
    for (const one of rows) if (one.was === 'queued') await recordDeployEvent(deps, trx, 'deploy.started', one)
    return rows
  })
}

/** In how many milliseconds the next retry pause is over. Null: no deploy is in one. */
export async function nextDeployInMs(db: DbOrTransaction): Promise<number | null> {
  const { rows } = await sql<{ ms: number | null }>`
    select (extract(epoch from min(next_attempt_at) - now()) * 1000)::float8 as ms from app_deploys
    where status in ('queued', 'building', 'starting', 'running', 'restarting')`.execute(db)
  return rows[0]?.ms ?? null
}

export async function ownedIds(db: DbOrTransaction, instanceId: string, deployIds: string[]): Promise<Set<string>> {
  const rows = await listRows(db, 'app_deploys', {
    deploy_id: deployIds,
    instance_id: instanceId,
    status: heldStatuses,
  })
  return new Set(rows.map((row) => row.deploy_id))
}

/** Gives up this server's claims of a project that moves to another server, which claims them then. */
export async function releaseDeploys(
  db: DbOrTransaction,
  { projectId, instanceId }: { projectId: string; instanceId: string },
): Promise<void> {
  const released = { instance_id: null, sandbox_id: null, next_attempt_at: null, attempts: 0 }
  const mine = { project_id: projectId, instance_id: instanceId }
  const error = 'It starts again on the server to which the project moved.'
  await updateRows(db, 'app_deploys', { ...mine, status: liveStatuses }, { ...released, status: 'restarting', error })
  await updateRows(db, 'app_deploys', { ...mine, status: ['building', 'starting'] }, { ...released, status: 'queued' })
}

/** Stores output together with how far it is stored. False when another server has the deploy, or in another sandbox. */
export async function appendOutput(
  db: Deps['db'],
  { deployId, instanceId, sandboxId }: Held & { sandboxId: string },
  lines: AppLogLine[],
  position: LogPosition,
): Promise<boolean> {
  const held = { deploy_id: deployId, instance_id: instanceId, sandbox_id: sandboxId }
  return db.transaction().execute(async (trx) => {
    if ((await updateRows(trx, 'app_deploys', held, { log_read: JSON.stringify(position) })) === 0) return false
    await appendLog(trx, deployId, lines)
    return true
  })
}

/** False when the deploy ended or another server has it; the caller then releases it. */
export async function moveDeploy(db: DbOrTransaction, held: Held, set: Changes<'app_deploys'>): Promise<boolean> {
  return (await updateRows(db, 'app_deploys', { ...keyOf(held), status: heldStatuses }, set)) > 0
}

const heldStatuses: AppDeployStatus[] = ['building', 'starting', ...liveStatuses]
const keyOf = ({ deployId, instanceId }: Held) => ({ deploy_id: deployId, instance_id: instanceId })

export async function failDeploy(deps: EventDeps, deploy: Held, error: string): Promise<void> {
  const failure = sql<DeployRow>`
    with failed as (
      update app_deploys set status = 'failed', error = ${error}, ended_at = now(), next_attempt_at = null
      where deploy_id = ${deploy.deployId} and instance_id = ${deploy.instanceId}
        and status in ('building', 'starting', 'running', 'restarting')
      returning *),
    cleared as (
      update apps set live_deploy_id = null where live_deploy_id in (select deploy_id from failed))
    select * from failed`
  await deps.db.transaction().execute(async (trx) => {
    const [failed] = (await failure.execute(trx)).rows
    if (failed !== undefined) await recordDeployEvent(deps, trx, 'deploy.failed', failed)
  })
}

/** Makes the deploy live and marks the previous one replaced, in one transaction. Null when the deploy is no longer wanted. */
export async function goLive(deps: EventDeps, deploy: Held): Promise<{ replaced: string | null } | null> {
  return deps.db.transaction().execute(async (trx) => {
    const switched = await switchTo(trx, deploy)
    const row = switched === null ? null : await getDeploy(trx, deploy.deployId)
    if (row !== null) await recordDeployEvent(deps, trx, 'deploy.live', row)
    return switched
  })
}

async function switchTo(trx: DbOrTransaction, deploy: Held) {
  const row = await getDeploy(trx, deploy.deployId)
  const app = row === null ? null : await lockApp(trx, row.project_id, row.slug)
  if (app === null || app.desired !== 'running' || !app.enabled) return null
  const unserved = { ...keyOf(deploy), status: ['building', 'starting'] as const }
  const set = { status: 'running', error: null, ready_at: sql<string>`now()` } as const
  if ((await updateRows(trx, 'app_deploys', unserved, set)) === 0) return null
  const replaced = app.live_deploy_id
  await updateApp(trx, app, { live_deploy_id: deploy.deployId })
  if (replaced === null) return { replaced }
  const end = { status: 'replaced', ended_at: sql<string>`now()`, error: null, next_attempt_at: null } as const
  await updateRows(trx, 'app_deploys', { deploy_id: replaced, status: liveStatuses }, end)
  return { replaced }
}

/** As many may be followed by more. */
export const projectsAtOnce = 100

/** Selects the projects among `changed` whose default branch or secrets changed since their apps were reconciled. */
export async function projectsToReconcile(
  db: DbOrTransaction,
  { provider, changed, home }: { provider: string; changed: ReadonlySet<string> | 'all'; home: string | null },
): Promise<string[]> {
  const { rows } = await sql<{ project_id: string }>`
    select d.project_id from default_branches d join projects p on p.project_id = d.project_id
    left join app_reconciliations r on r.project_id = d.project_id
    where p.deleted_at is null and ${isAmong(sql.ref('d.project_id'), changed)}
      and ${isAtHome(sql.ref('d.project_id'), home)}
      and (r.project_id is null or r.sha is distinct from d.sha or r.branch <> d.branch
        or r.secrets_revision <> p.secrets_revision or r.provider <> ${provider})
    order by d.moved_at limit ${projectsAtOnce}`.execute(db)
  return rows.map((row) => row.project_id)
}

export async function recordReconciliation(trx: DbOrTransaction, row: NewRow<'app_reconciliations'>): Promise<void> {
  await upsertRow(trx, 'app_reconciliations', row, 'project_id')
}

export async function reconciliation(db: DbOrTransaction, projectId: string) {
  return findRow(db, 'app_reconciliations', { project_id: projectId })
}
