/** SQL on the start of sessions: the phases of each start, and the secrets a running session should have. */
import { sql } from 'kysely'
import { insertRow, upsertRow } from '../../db/rows.ts'
import type { DbOrTransaction, NewRow, Row } from '../../db/schema.ts'
import type { Changed } from '../../scheduler/inbox.ts'

/** The running sessions in sandboxes of this server, of changed projects or of all, with the revision of their secrets. */
export async function secretRevisions(
  db: DbOrTransaction,
  of: { instanceId: string; changed: Changed },
): Promise<{ session_id: string; project_id: string; revision: string }[]> {
  const rows = await sessionsRunBy(db, of)
    .innerJoin('projects', 'projects.project_id', 's.project_id')
    .select(['s.session_id', 's.project_id', 'secrets_revision'])
    .execute()
  return rows.map(({ secrets_revision, ...row }) => ({ ...row, revision: String(secrets_revision) }))
}

/**
 * By the server, as a list of thousands of sessions costs more than the rows. The caller leaves out those that it is about
 * to end.
 */
export function sessionsRunBy(db: DbOrTransaction, { instanceId, changed }: { instanceId: string; changed: Changed }) {
  const query = db
    .selectFrom('session_sandboxes as sandbox')
    .innerJoin('project_sessions as s', (join) =>
      join.onRef('s.session_id', '=', 'sandbox.session_id').onRef('s.generation', '=', 'sandbox.generation'),
    )
    .where('sandbox.status', '=', 'active')
    .where('sandbox.instance_id', '=', instanceId)
    .where('s.status', '=', 'running')
  return changed === 'all' ? query : query.where(sql<boolean>`s.project_id = any(${[...changed]}::uuid[])`)
}

export function setPhase(db: DbOrTransaction, row: NewRow<'session_phases'>): Promise<void> {
  return upsertRow(db, 'session_phases', row, 'session_id', 'generation', 'position')
}

/**
 * Ends the phases of an earlier server, which made the sandbox and cannot say when, and returns the position of the
 * first step of the daemon.
 */
export async function resumePhases(
  db: DbOrTransaction,
  of: { session_id: string; generation: number },
  at: Date,
): Promise<number> {
  const rows = await db
    .selectFrom('session_phases')
    .select(['position', 'name', 'started_at', 'ms', 'error', 'note'])
    .where((eb) => eb.and(of))
    .orderBy('position')
    .execute()
  const made = rows.findLast(({ name }) => name === 'sandbox' || name === 'claim')
  if (made === undefined) return 0
  for (const row of rows)
    if (row.position <= made.position && row.ms === null)
      await setPhase(db, { ...of, ...row, ms: at.getTime() - Date.parse(row.started_at), note: null })
  return made.position + 1
}

/** The steps of one name that a timeline keeps. */
const keptMax = 100

/** Adds a step after the start. Needs a transaction. */
export async function appendPhase(
  trx: DbOrTransaction,
  { session_id, generation }: { session_id: string; generation: number },
  phase: Omit<NewRow<'session_phases'>, 'session_id' | 'generation' | 'position'>,
): Promise<void> {
  await insertRow(trx, 'session_phases', {
    ...{ session_id, generation },
    position: sql<number>`(select coalesce(max(position), -1) + 1 from session_phases
        where session_id = ${session_id} and generation = ${generation})`,
    ...phase,
  })
  await sql`delete from session_phases where session_id = ${session_id} and generation = ${generation}
    and name = ${phase.name} and position <= (select position from session_phases
      where session_id = ${session_id} and generation = ${generation} and name = ${phase.name}
      order by position desc offset ${keptMax} limit 1)`.execute(trx)
}

/** The steps of this start, after those of earlier ones that failed to put back work which waits to be recovered still. */
export async function phasesOf(db: DbOrTransaction, sessionId: string, generation: number) {
  const { rows } = await sql<Pick<Row<'session_phases'>, 'name' | 'started_at' | 'ms' | 'error' | 'note'>>`
    select name, started_at, ms, error, note from session_phases p
    where session_id = ${sessionId} and (generation = ${generation} or name = 'restore' and error is not null and (
      select recovered_at is null and recovered_into is distinct from ${generation} from session_wip w
      where w.session_id = p.session_id and w.generation < p.generation and w.lost_at is null order by w.generation desc limit 1))
    order by generation, position`.execute(db)
  return rows
}
