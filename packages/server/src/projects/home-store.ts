/** SQL on the home of a project: the server that keeps its repository, sessions and apps. */
import { ServiceError } from '@svc/contract'
import { sql } from 'kysely'
import { findRow, firstRow, hasRow, listRows, updateRow, updateRows } from '../db/rows.ts'
import type { DbOrTransaction } from '../db/schema.ts'
import type { Deps } from '../deps.ts'
import type { ProjectRow } from './store.ts'

/** Null for an unknown project. Null as `home`: it has none yet. */
export function homeOf(
  db: DbOrTransaction,
  projectId: string,
): Promise<Pick<ProjectRow, 'home' | 'home_state'> | null> {
  return firstRow(db.selectFrom('projects').select(['home', 'home_state']).where('project_id', '=', projectId))
}

/** All projects with that slug, in any account, and deleted ones that had it. */
export async function projectsNamed(db: DbOrTransaction, slug: string): Promise<{ project_id: string }[]> {
  return db
    .selectFrom('projects')
    .select('project_id')
    .where(({ or, eb }) => or([eb('slug', '=', slug), eb('deleted_slug', '=', slug)]))
    .execute()
}

/**
 * Makes this server the home of projects whose repository it has or can fetch: of those without a home, and, on a
 * server that runs alone, of those of another name, which its data had before. The only name there is takes every one.
 */
export async function takeProjects(
  db: DbOrTransaction,
  input: { serverName: string; stored: string[]; isAlone: boolean; isOnlyName: boolean },
): Promise<number> {
  const { serverName, stored, isAlone, isOnlyName } = input
  const isOpen = isAlone || isOnlyName ? sql`home is distinct from ${serverName}` : sql`home is null`
  const isKept = isOnlyName ? sql`true` : sql`(not managed or project_id::text = any(${stored}::text[]))`
  const { numAffectedRows } = await sql`
    update projects set home = ${serverName}, home_epoch = home_epoch + 1, home_state = 'open' where ${isOpen} and ${isKept}`.execute(
    db,
  )
  return Number(numAffectedRows ?? 0n)
}

/** Projects whose home is another server that others can reach. */
export async function countHomedAtPeers(db: DbOrTransaction, serverName: string): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*)::integer as count from projects p join servers s on s.server_name = p.home
    where p.home <> ${serverName} and s.peer_url is not null`.execute(db)
  return rows[0]!.count
}

/** A project as its caller read it before it changed a ref. */
export type Homed = Pick<ProjectRow, 'project_id' | 'home_epoch'>

/**
 * Requires that this server is the home of the project, as it was when the caller read it, and keeps it so until the
 * transaction ends. A server that was paused while its project moved gets no further than this.
 */
export async function holdHome(
  trx: DbOrTransaction,
  { home }: Pick<Deps, 'home'>,
  { project_id, home_epoch }: Homed,
): Promise<void> {
  if (home === null) return
  const mine = trx.selectFrom('projects').select('project_id')
  const isMine = mine.where((eb) => eb.and({ project_id, home, home_epoch })).where('home_state', '<>', 'frozen')
  if (!(await hasRow(isMine.forShare()))) throw await hasMoved(trx, { home }, { project_id })
}

/** Runs `write` in a transaction that has checked the home. A server that runs alone needs neither. */
export function writeAtHome<T>(
  deps: Pick<Deps, 'db' | 'home'>,
  project: Homed,
  write: (db: DbOrTransaction) => Promise<T>,
): Promise<T> {
  if (deps.home === null) return write(deps.db)
  return deps.db.transaction().execute(async (trx) => {
    await holdHome(trx, deps, project)
    return write(trx)
  })
}

/** Before a change of a ref is acknowledged that needs no other row. */
export function requireHome(deps: Pick<Deps, 'db' | 'home'>, project: Homed): Promise<void> {
  return writeAtHome(deps, project, async () => {})
}

/** Says where the project is by now, and whether an operator declared this server gone. */
export async function hasMoved(
  db: DbOrTransaction,
  { home }: Pick<Deps, 'home'>,
  { project_id }: Pick<Homed, 'project_id'>,
): Promise<ServiceError> {
  const now = (await homeOf(db, project_id))?.home ?? null
  const own = home === null ? null : await findRow(db, 'servers', { server_name: home })
  const takenOver = own?.taken_over_at
  const where = now === null ? '' : ` Its home is ${now} now.`
  const why = takenOver == null ? '' : ` The projects of ${home} were taken over at ${takenOver}.`
  const message =
    now === home
      ? 'This project is moving to another server.'
      : `This project moved to another server while the request was running.${where}${why}`
  return new ServiceError('unavailable', message, {
    hint: 'Nothing was recorded. Send the request again.',
    detail: { retry_after_seconds: 1 },
  })
}

/** Waits for the transactions that hold the home, and keeps others from it. Null: the home has changed since. */
export function lockHome(
  trx: DbOrTransaction,
  { project_id, home_epoch }: Homed,
  home: string,
): Promise<{ project_id: string } | null> {
  const row = trx.selectFrom('projects').select('project_id')
  return firstRow(row.where((eb) => eb.and({ project_id, home, home_epoch })).forUpdate())
}

/** Gives a project to another home, whose present one the caller has locked. A move that was on its way ends with the epoch. */
export async function moveHome(trx: DbOrTransaction, { project_id, home_epoch }: Homed, to: string): Promise<void> {
  const set = { home: to, home_epoch: home_epoch + 1, home_state: 'open' as const }
  await updateRows(trx, 'projects', { project_id, home_epoch }, set)
}

/** Projects whose home has that name, deleted ones included until they are purged. Null: of a server that runs alone, all. */
export async function projectsAt(db: DbOrTransaction, home: string | null): Promise<ProjectRow[]> {
  return listRows(db, 'projects', home === null ? {} : { home }, 'created_at', 'project_id')
}

/** Those behind `after` in the same order. That project may have another home by now. */
export async function projectsAtAfter(db: DbOrTransaction, home: string, after: string): Promise<ProjectRow[]> {
  const query = db.selectFrom('projects').selectAll().where('home', '=', home)
  const behind = sql<boolean>`(created_at, project_id) > (select created_at, project_id from projects where project_id = ${after})`
  return query.where(behind).orderBy('created_at').orderBy('project_id').execute()
}

interface AsHome extends Homed {
  home: string
}

/** Null: the project has another home or epoch. Waits for the transactions that hold the home. */
export function setHomeState(
  trx: DbOrTransaction,
  { project_id, home, home_epoch }: AsHome,
  home_state: ProjectRow['home_state'],
): Promise<ProjectRow | null> {
  return updateRow(trx, 'projects', { project_id, home, home_epoch }, { home_state })
}

/** Gives a frozen project to another home. Null: it is not frozen at that home and epoch any more. */
export function switchHome(
  trx: DbOrTransaction,
  { project_id, home, home_epoch }: AsHome,
  to: string,
): Promise<ProjectRow | null> {
  const frozen = { project_id, home, home_epoch, home_state: 'frozen' as const }
  return updateRow(trx, 'projects', frozen, { home: to, home_epoch: home_epoch + 1, home_state: 'open' })
}
