import type { ProjectEvent } from '@svc/contract'
import { sql } from 'kysely'
import type { Db, DbOrTransaction, NewRow, Row } from '../db/schema.ts'
import { readTogether } from '../db/read-together.ts'
import { findRow, firstRows, insertRow, listRows } from '../db/rows.ts'

type EventRow = Row<'project_events'>

export function insertEvent(trx: DbOrTransaction, row: NewRow<'project_events'>): Promise<void> {
  return insertRow(trx, 'project_events', row)
}

export interface Numbers {
  /** The newest event; 0 when there is none. */
  last: number
  /** Events up to this one are deleted. */
  forgotten: number
}

const none: Numbers = { last: 0, forgotten: 0 }

export async function readNumbers(db: DbOrTransaction, projectId: string): Promise<Numbers> {
  const { last, forgotten } = (await findRow(db, 'project_event_counters', { project_id: projectId })) ?? none
  return { last, forgotten }
}

/** Events after `after`, oldest first. Readers at the same position share one query. */
export function eventsAfter(db: Db, projectId: string, after: number, limit: number): Promise<ProjectEvent[]> {
  return readTogether(db, `events ${projectId} ${after} ${limit}`, async () => {
    const next = { project_id: projectId, number: sql`> ${after}` }
    return (await firstRows(db, 'project_events', next, limit, 'number')).map(presentEvent)
  })
}

/** The newest event that is older than so many seconds; 0 when none of those that are kept is. */
export async function numberBefore(db: DbOrTransaction, projectId: string, seconds: number): Promise<number> {
  const older = { project_id: projectId, created_at: sql`<= now() - make_interval(secs => ${seconds}::integer)` }
  return (await firstRows(db, 'project_events', older, 1, 'number desc'))[0]?.number ?? 0
}

/** Those of the projects in which something happened in the last so many seconds. */
export async function changedProjects(db: DbOrTransaction, projectIds: string[], seconds: number): Promise<string[]> {
  const rows = await db
    .selectFrom('project_events')
    .select('project_id')
    .distinct()
    .where('project_id', 'in', projectIds)
    .where('created_at', '>', sql<string>`now() - make_interval(secs => ${seconds}::integer)`)
    .execute()
  return rows.map((row) => row.project_id)
}

/** Null when it is deleted already. */
export async function eventNumbered(db: DbOrTransaction, projectId: string, number: number) {
  const row = await findRow(db, 'project_events', { project_id: projectId, number })
  return row === null ? null : presentEvent(row)
}

export async function newestEvents(db: DbOrTransaction, projectId: string, limit: number): Promise<ProjectEvent[]> {
  const numbered = { project_id: projectId, number: sql`is not null` }
  return (await firstRows(db, 'project_events', numbered, limit, 'number desc')).reverse().map(presentEvent)
}

/** The newest number of each of these projects that has events. */
export async function lastNumbers(db: DbOrTransaction, projectIds: string[]): Promise<Map<string, number>> {
  const rows = await listRows(db, 'project_event_counters', { project_id: projectIds })
  return new Map(rows.map((row) => [row.project_id, row.last]))
}

/** Wakes the readers of a project's events without one, for those who show something that changed besides. */
export async function wakeEventReaders(db: DbOrTransaction, projectId: string): Promise<void> {
  await sql`select pg_notify('svc_project_events', ${projectId})`.execute(db)
}

const forgottenAtOnce = 10_000

/** The job. Deletes events past their retention, and records in each project how far. */
export async function deleteOldEvents(db: DbOrTransaction, days: number): Promise<void> {
  await sql`
    with gone as (
      delete from project_events where event_id in (
        select event_id from project_events
        where created_at < now() - make_interval(days => ${days}::integer)
        order by created_at limit ${forgottenAtOnce})
      returning project_id, number
    ), up_to as (
      select project_id, max(number) as number from gone group by project_id order by project_id
    )
    update project_event_counters counter set forgotten = greatest(counter.forgotten, up_to.number)
    from up_to where counter.project_id = up_to.project_id`.execute(db)
}

function presentEvent(row: EventRow): ProjectEvent {
  const { actor_user_id, actor_session_id } = row
  return {
    id: row.number ?? 0,
    project_id: row.project_id,
    type: row.type,
    created_at: row.created_at,
    actor: actor_user_id === null ? null : { user_id: actor_user_id, session_id: actor_session_id },
    data: row.data,
  } as ProjectEvent
}
