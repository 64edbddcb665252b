import { sql } from 'kysely'
import type { DbOrTransaction } from '../../db/schema.ts'
import type { ChangeRequestRow } from '../store.ts'

const sessionsMax = 20

export interface WritingSession {
  session_id: string
  name: string
}

/** The sessions that may have written the head branch: its own, the one that opened the change request, and those that they started. */
export async function sessionsOfHead(db: DbOrTransaction, cr: ChangeRequestRow): Promise<WritingSession[]> {
  const { rows } = await sql<WritingSession>`
    with own as (
      select session_id from project_sessions
      where project_id = ${cr.project_id} and (branch_name = ${cr.head_ref} or session_id = ${cr.origin_session_id})
    )
    select session_id, name from project_sessions
    where project_id = ${cr.project_id}
      and (session_id in (select session_id from own) or ancestors && array(select session_id from own))
    order by session_id in (select session_id from own) desc, created_at, session_id
    limit ${sessionsMax}`.execute(db)
  return rows
}
