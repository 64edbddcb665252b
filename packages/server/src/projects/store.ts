import { deletedDaysKept, type Project, projectSettings, type Role, roles } from '@svc/contract'
import { type RawBuilder, sql } from 'kysely'
import pg from 'pg'
import { isUuid } from '../auth/allow.ts'
import type { Config } from '../config.ts'
import type { DbOrTransaction, NewRow, Row } from '../db/schema.ts'
import { type PageQuery, readPage } from '../db/read-page.ts'
import {
  deleteRows,
  findRow,
  firstRow,
  firstRows,
  hasRow,
  listRows,
  lockRow,
  updateRow,
  updateRows,
} from '../db/rows.ts'
import { deletionLock } from './branch-deletion.ts'

export type ProjectRow = Row<'projects'>

/** The row as the API shows it: without the sealed columns, with the address of the git gateway. */
export function presentProject(config: Pick<Config, 'publicUrl'>, row: ProjectRow): Project {
  const gitUrl = `${config.publicUrl}/v1/projects/${row.project_id}/git`
  return {
    project_id: row.project_id,
    account_id: row.account_id,
    slug: row.deleted_slug ?? row.slug,
    name: row.name,
    repo_url: row.managed ? gitUrl : row.repo_url,
    git_url: gitUrl,
    default_branch: row.default_branch,
    managed: row.managed,
    config_dir: row.config_dir,
    ssh_public_key: row.ssh_public_key,
    settings: projectSettings.parse(row.settings),
    created_at: row.created_at,
    updated_at: row.updated_at,
    ...(row.deleted_at === null ? {} : { deleted_at: row.deleted_at, purge_at: row.purge_at! }),
  }
}

/** Null for a deleted one. */
export async function getProject(db: DbOrTransaction, projectId: string): Promise<ProjectRow | null> {
  const project = await getProjectOrDeleted(db, projectId)
  return project?.deleted_at === null ? project : null
}

/** Includes deleted ones: for jobs that maintain a project's work and storage until it is restored or purged. */
export async function getProjectOrDeleted(db: DbOrTransaction, projectId: string): Promise<ProjectRow | null> {
  return findRow(db, 'projects', { project_id: projectId })
}

/** Includes deleted ones. */
export async function getProjects(db: DbOrTransaction, projectIds: string[]): Promise<ProjectRow[]> {
  return projectIds.length === 0 ? [] : listRows(db, 'projects', { project_id: projectIds })
}

type ProjectPage = PageQuery & { account_id?: string | undefined }

export function listProjectsOfUser(db: DbOrTransaction, userId: string, page: ProjectPage) {
  const live = ofMember(db, { userId, roles }, page).where('deleted_at', 'is', null)
  return readPage(live, ['created_at', 'project_id'], 'desc', page)
}

/** The newest projects of a user. */
export async function projectIdsOfUser(db: DbOrTransaction, userId: string, limit: number): Promise<string[]> {
  const { rows } = await listProjectsOfUser(db, userId, { limit })
  return rows.map(({ project_id }) => project_id)
}

/** Those the user can restore now, last deleted first. */
export function listDeletedProjects(db: DbOrTransaction, userId: string, page: ProjectPage & { now: Date }) {
  const restorable = ofMember(db, { userId, roles: ['owner', 'admin'] }, page)
    .where('purge_at', '>', page.now.toISOString())
    .whereRef('purge_at', '>', 'deleted_at')
  return readPage(restorable, ['deleted_at', 'project_id'], 'desc', page)
}

function ofMember(
  db: DbOrTransaction,
  { userId, roles }: { userId: string; roles: readonly Role[] },
  { account_id }: ProjectPage,
) {
  const projects = db
    .selectFrom('projects')
    .selectAll()
    .where('account_id', 'in', (members) =>
      members
        .selectFrom('account_members')
        .select('account_id')
        .where('user_id', '=', userId)
        .where('role', 'in', roles),
    )
  return account_id === undefined ? projects : projects.where(inAccount(account_id))
}

/** A value that is no id names no account. */
const inAccount = (accountId: string) =>
  isUuid(accountId) ? sql<boolean>`account_id = ${accountId}::uuid` : sql<boolean>`false`

/** Null when the slug is taken in that account. A retry with the same id returns the existing row. */
export async function insertProject(db: DbOrTransaction, row: NewRow<'projects'>): Promise<ProjectRow | null> {
  return firstRow(
    db
      .insertInto('projects')
      .values(row)
      .onConflict((conflict) => conflict.columns(['account_id', 'slug']).doNothing())
      .returningAll(),
  )
}

export async function updateProject(
  db: DbOrTransaction,
  projectId: string,
  set: {
    name?: string
    default_branch?: string
    git_token?: Buffer
    git_username?: string
    ssh_public_key?: string | null
    config_dir?: string
    settings?: object
  },
): Promise<ProjectRow> {
  const { settings, ...rest } = set
  return db
    .updateTable('projects')
    .set({
      ...rest,
      ...(settings === undefined ? {} : { settings: sql`settings || ${JSON.stringify(settings)}::jsonb` }),
      updated_at: new Date(),
    })
    .where('project_id', '=', projectId)
    .returningAll()
    .executeTakeFirstOrThrow()
}

export async function isBranchOfLiveSession(db: DbOrTransaction, projectId: string, branch: string): Promise<boolean> {
  const status = sql`not in ('stopped', 'failed', 'completed')`
  return (await findRow(db, 'project_sessions', { project_id: projectId, branch_name: branch, status })) !== null
}

/** Longer than a deletion on a git host may take. */
const deletionMinutes = 15

/** Of a row of `session_branches`: the mark is of a deletion that cannot run any more. */
export const deletionDied = sql<boolean>`deleting_at < now() - make_interval(mins => ${deletionMinutes}::integer)`

/** A server that died in a deletion leaves its mark, `deleting_at`, and no lock. */
export const isBeingDeleted = sql<boolean>`case
  when deleting_at > now() - make_interval(mins => ${deletionMinutes}::integer)
  then not pg_try_advisory_xact_lock_shared(hashtextextended(${deletionLock('')}::text || project_id, 0)) else false end`

/** By the job of SVC_KEEP_BRANCHES. */
export function isBranchBeingDeleted(db: DbOrTransaction, projectId: string, branch: string): Promise<boolean> {
  const marked = db.selectFrom('session_branches').select('branch').where('project_id', '=', projectId)
  return hasRow(marked.where('branch', '=', branch).where(isBeingDeleted))
}

/** Prevents deleting, restoring and purging until the transaction ends. */
export async function lockProject(trx: DbOrTransaction, projectId: string): Promise<void> {
  await lockRow(trx, 'projects', { project_id: projectId })
}

/** Prevents deleting until the transaction ends. False when it is deleted or gone. */
export async function holdLiveProject(trx: DbOrTransaction, projectId: string): Promise<boolean> {
  return hasRow(
    trx
      .selectFrom('projects')
      .select('project_id')
      .where('project_id', '=', projectId)
      .where('deleted_at', 'is', null)
      .forShare(),
  )
}

/** Frees its slug: until it is restored its own id is its slug. Null when it is deleted already, or gone. */
export function markDeleted(
  db: DbOrTransaction,
  projectId: string,
  set: { at: Date; by: string; purgeAt: Date },
): Promise<ProjectRow | null> {
  return updateRow(
    db,
    'projects',
    { project_id: projectId, deleted_at: null },
    {
      deleted_at: set.at,
      deleted_by: set.by,
      deleted_slug: sql`slug`,
      slug: sql`project_id::text`,
      purge_at: set.purgeAt,
    },
  )
}

/**
 * Makes it impossible to restore: `purge_at` becomes `deleted_at`, which every server reads alike however their
 * clocks differ. Null when it is not deleted, or not due by the given time.
 */
export function markPurging(
  db: DbOrTransaction,
  projectId: string,
  { dueBy }: { dueBy: Date | null },
): Promise<ProjectRow | null> {
  const due = dueBy === null ? {} : { purge_at: sql`<= ${dueBy}` }
  const deleted = { project_id: projectId, deleted_at: sql`is not null`, ...due }
  return updateRow(db, 'projects', deleted, { purge_at: sql`deleted_at` })
}

/** Whether a deleted project cannot be restored any more. */
export function isPurging(row: Pick<ProjectRow, 'deleted_at' | 'purge_at'>, now: Date): boolean {
  if (row.deleted_at === null || row.purge_at === null) return false
  return Date.parse(row.purge_at) <= Math.max(now.getTime(), Date.parse(row.deleted_at))
}

/** Null when it is not deleted, when its time is over, or when the slug is taken. Runs in its own transaction: of two that take one slug at once, the later one fails. */
export function markRestored(db: DbOrTransaction, projectId: string, { slug, at }: { slug: string; at: Date }) {
  const isFree = sql`is not null and not exists (select 1 from projects other
    where other.account_id = projects.account_id and other.slug = ${slug})`
  const restorable = { project_id: projectId, purge_at: sql`> greatest(deleted_at, ${at})`, deleted_at: isFree }
  const none = { deleted_at: null, deleted_by: null, deleted_slug: null, purge_at: null }
  return updateRow(db, 'projects', restorable, { ...none, slug, restored_at: at, updated_at: at })
}

/** Whether another project took the slug first. */
export function isSlugTaken(error: unknown): boolean {
  return error instanceof pg.DatabaseError && error.constraint === 'projects_account_id_slug_key'
}

/** Deleted projects whose time to restore is over. */
export function projectsToPurge(
  db: DbOrTransaction,
  { now, home, limit }: { now: Date; home: string | null; limit: number },
): Promise<ProjectRow[]> {
  const here = home === null ? {} : { home, home_state: 'open' as const }
  return firstRows(db, 'projects', { purge_at: sql`<= ${now}`, ...here }, limit, 'purge_at')
}

/** When it was last restored; work that was due before that is not made up for. */
export async function restoredAt(db: DbOrTransaction, projectId: string): Promise<Date | null> {
  const at = (await findRow(db, 'projects', { project_id: projectId }))?.restored_at
  return at == null ? null : new Date(at)
}

/** Only during its purge. False when another server was first. */
export async function deleteProjectRow(db: DbOrTransaction, projectId: string): Promise<boolean> {
  return (await deleteRows(db, 'projects', { project_id: projectId, purge_at: sql`<= deleted_at` })) > 0
}

/** After a jump of the clock: what can still be restored can be so for its days, and at least until then. */
export async function keepDeletedUntil(db: DbOrTransaction, until: string): Promise<void> {
  await sql`update projects
    set purge_at = greatest(deleted_at + make_interval(days => ${deletedDaysKept}), ${until}::timestamptz)
    where purge_at > deleted_at`.execute(db)
}

/** Deletes projects from a restored copy, because its original purged them. */
export async function deletePurgedRows(db: DbOrTransaction, projectIds: string[]): Promise<void> {
  if (projectIds.length > 0) await deleteRows(db, 'projects', { project_id: projectIds })
}

/** The given projects that were purged here. Unknown ones do not count: an older backup of the database does not know them either. */
export async function purgedAmong(db: DbOrTransaction, projectIds: string[]): Promise<string[]> {
  if (projectIds.length === 0) return []
  const known = await db.selectFrom('projects').select('project_id').where('project_id', 'in', projectIds).execute()
  const isKnown = new Set(known.map((row) => row.project_id))
  const unknown = projectIds.filter((id) => !isKnown.has(id))
  if (unknown.length === 0) return []
  const actions = ['project.purge', 'project.delete']
  const purged = await listRows(db, 'audit_events', { project_id: unknown, action: actions })
  return purged.map((row) => row.object_id)
}

export async function bumpSecretsRevision(db: DbOrTransaction, projectId: string): Promise<void> {
  await updateRows(db, 'projects', { project_id: projectId }, { secrets_revision: sql`secrets_revision + 1` })
}

/** The part of a statement that takes the project's next change request number, as column `number`. */
export function takeChangeRequestNumber(projectId: string): RawBuilder<{ number: number }> {
  return sql`update projects set next_cr_number = next_cr_number + 1
    where project_id = ${projectId} returning next_cr_number - 1 as number`
}

/** Does nothing when another server has replaced the key already. */
export async function replaceDataKey(
  trx: DbOrTransaction,
  key: { projectId: string; before: Buffer; after: Buffer; wrappedBy: string },
): Promise<void> {
  await updateRows(
    trx,
    'projects',
    { project_id: key.projectId, data_key: key.before },
    { data_key: key.after, data_key_wrapped_by: key.wrappedBy },
  )
}

export async function setConfigDir(db: DbOrTransaction, projectId: string, configDir: string): Promise<void> {
  await updateRows(db, 'projects', { project_id: projectId }, { config_dir: configDir })
}
