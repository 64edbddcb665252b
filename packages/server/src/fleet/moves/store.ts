/** All SQL on moves of projects between servers. */
import { sql } from 'kysely'
import { isRecent } from '../../db/live-instance.ts'
import { type Changes, findRow, firstRow, listRows, lockRow, updateRow } from '../../db/rows.ts'
import type { DbOrTransaction, NewRow, Row } from '../../db/schema.ts'

export type MoveRow = Row<'project_moves'>

/** False while another move of the project is active. */
export async function insertMove(trx: DbOrTransaction, row: NewRow<'project_moves'>): Promise<MoveRow | null> {
  return firstRow(
    trx
      .insertInto('project_moves')
      .values(row)
      .onConflict((conflict) => conflict.column('project_id').where('ended_at', 'is', null).doNothing())
      .returningAll(),
  )
}

export function lastMoveOf(db: DbOrTransaction, projectId: string): Promise<MoveRow | null> {
  const ofProject = db.selectFrom('project_moves').selectAll().where('project_id', '=', projectId)
  return firstRow(ofProject.orderBy('requested_at', 'desc').limit(1))
}

/** The moves of all servers: there are few at a time. */
export function activeMoves(db: DbOrTransaction): Promise<MoveRow[]> {
  return listRows(db, 'project_moves', { ended_at: null }, 'requested_at')
}

export interface NamedMove extends MoveRow {
  slug: string
}

export async function namedMoves(db: DbOrTransaction): Promise<NamedMove[]> {
  const { rows } = await sql<NamedMove>`
    select m.*, p.slug from project_moves m join projects p on p.project_id = m.project_id
    where m.ended_at is null order by m.requested_at`.execute(db)
  return rows
}

const unmovableMax = 5_000

/** Projects of draining servers of which no move got to copy anything. An agent at work makes one fail later. */
export async function unmovableProjects(db: DbOrTransaction) {
  const { rows } = await sql<{ home: string; project_id: string; slug: string; error: string }>`
    select p.home, p.project_id, p.slug, last.error from projects p join servers s on s.server_name = p.home
    cross join lateral (select * from project_moves m where m.project_id = p.project_id and m.ended_at is not null
      order by m.requested_at desc limit 1) last
    where last.phase = 'failed' and last.passes = 0 and last.error is not null and last.from_server = p.home
      and last.requested_at >= s.draining_since
      and not exists (select from project_moves m where m.project_id = p.project_id and m.ended_at is null and m.passes > 0)
    order by p.slug limit ${unmovableMax}`.execute(db)
  return rows
}

export function lockMove(trx: DbOrTransaction, moveId: string): Promise<MoveRow | null> {
  return lockRow(trx, 'project_moves', { move_id: moveId })
}

export function activeMoveOf(db: DbOrTransaction, projectId: string): Promise<MoveRow | null> {
  return findRow(db, 'project_moves', { project_id: projectId, ended_at: null })
}

/** Null when no move of the project to that server waits without force. */
export function forceMove(
  trx: DbOrTransaction,
  { projectId, to }: { projectId: string; to: string },
): Promise<MoveRow | null> {
  const waits = { project_id: projectId, to_server: to, ended_at: null, is_forced: false }
  return updateRow(trx, 'project_moves', waits, { is_forced: true })
}

/** Ends the move of a project that got another home in another way. */
export async function failActiveMove(trx: DbOrTransaction, projectId: string, error: string): Promise<void> {
  const failed = { phase: 'failed' as const, error, waits_for: null, ended_at: sql<string>`now()` }
  await trx
    .updateTable('project_moves')
    .set(failed)
    .where('project_id', '=', projectId)
    .where('ended_at', 'is', null)
    .execute()
}

/** Null when the move is not in that phase any more. */
export function setPhase(
  trx: DbOrTransaction,
  { move_id }: Pick<MoveRow, 'move_id'>,
  from: MoveRow['phase'],
  set: Changes<'project_moves'> & { phase: MoveRow['phase'] },
): Promise<MoveRow | null> {
  const isOver = set.phase === 'done' || set.phase === 'failed'
  const at = sql<string>`now()`
  return updateRow(
    trx,
    'project_moves',
    { move_id, phase: from, ended_at: null },
    { phase_at: at, progress_at: at, waits_for: null, ...set, ...(isOver ? { ended_at: at } : {}) },
  )
}

export async function noteProgress(
  db: DbOrTransaction,
  { move_id }: Pick<MoveRow, 'move_id'>,
  set: Changes<'project_moves'>,
): Promise<void> {
  await updateRow(db, 'project_moves', { move_id, ended_at: null }, set)
}

/** Seconds since a time of the row, by the clock of the database. */
export async function ageOf(db: DbOrTransaction, { move_id }: Pick<MoveRow, 'move_id'>) {
  const { rows } = await sql<{ phase: number; progress: number }>`
    select extract(epoch from now() - phase_at)::float8 as phase, extract(epoch from now() - progress_at)::float8 as progress
    from project_moves where move_id = ${move_id}`.execute(db)
  return rows[0] ?? { phase: 0, progress: 0 }
}

/**
 * Moves that ended and left a copy on the disk of this server: those away from here, and those to here that failed, which
 * may have put it in its place already. Not while clones may read what a move away has left in that place.
 */
export async function leftCopies(
  db: DbOrTransaction,
  { serverName, minutes }: { serverName: string; minutes: number },
) {
  const isYoung = sql`ended_at >= now() - make_interval(mins => ${minutes})`
  const { rows } = await sql<Pick<MoveRow, 'move_id' | 'project_id'>>`
    select move_id, project_id from project_moves m where removed_at is null and ended_at is not null and not (${isYoung})
      and case phase when 'done' then from_server else to_server end = ${serverName}
      and not exists (select from project_moves where project_id = m.project_id
        and from_server = ${serverName} and phase = 'done' and ${isYoung})`.execute(db)
  return rows
}

/** The last finished move away from this server. Null: none that is so young that the log has every change since. */
export async function lastMoveFrom(
  db: DbOrTransaction,
  { projectId, serverName }: { projectId: string; serverName: string },
): Promise<Pick<MoveRow, 'home_epoch'> | null> {
  const { rows } = await sql<Pick<MoveRow, 'home_epoch'>>`
    select home_epoch from project_moves where project_id = ${projectId} and from_server = ${serverName}
      and phase = 'done' and ended_at > now() - interval '6 days' order by ended_at desc limit 1`.execute(db)
  return rows[0] ?? null
}

export async function recordRemoved(db: DbOrTransaction, moveId: string): Promise<void> {
  await updateRow(db, 'project_moves', { move_id: moveId }, { removed_at: sql<string>`now()` })
}

/** Projects of this server that a move left closed when it ended, such as one that was cut short by a crash. */
export async function leftClosed(db: DbOrTransaction, serverName: string) {
  const { rows } = await sql<{ project_id: string; home_epoch: number }>`
    select project_id, home_epoch from projects p where home = ${serverName} and home_state <> 'open' and not exists (
      select from project_moves m where m.project_id = p.project_id and m.ended_at is null)`.execute(db)
  return rows
}

/** Whether a server that may keep projects runs under that name. */
export async function mayKeepProjects(
  db: DbOrTransaction,
  { serverName, deadAfterSeconds }: { serverName: string; deadAfterSeconds: number },
): Promise<boolean> {
  const { rows } = await sql`
    select from server_instances join servers using (server_name)
    where server_name = ${serverName} and server_instances.peer_url is not null and ${isRecent(deadAfterSeconds)}`.execute(
    db,
  )
  return rows.length > 0
}
