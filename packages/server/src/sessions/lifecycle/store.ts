/** SQL on the start of sessions: the phases of each start, and the secrets a running session should have. */
import { sql } from 'kysely'
import { insertRow, upsertRow } from '../../db/rows.ts'
import type { DbOrTransaction, NewRow } from '../../db/schema.ts'

export async function secretRevisions(db: DbOrTransaction, sessionIds: string[]) {
  if (sessionIds.length === 0) return new Map()
  const rows = await db
    .selectFrom('project_sessions')
    .innerJoin('projects', 'projects.project_id', 'project_sessions.project_id')
    .select(['session_id', 'projects.project_id', 'secrets_revision'])
    .where('session_id', 'in', sessionIds)
    .execute()
  return new Map(rows.map((row) => [row.session_id, { ...row, revision: String(row.secrets_revision) }]))
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

export async function phasesOf(db: DbOrTransaction, sessionId: string, generation: number) {
  return db
    .selectFrom('session_phases')
    .select(['name', 'started_at', 'ms', 'error', 'note'])
    .where((eb) => eb.and({ session_id: sessionId, generation }))
    .orderBy('position')
    .execute()
}
