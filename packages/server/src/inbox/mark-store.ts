/** All SQL on what a person put away in their inbox. */
import { sql } from 'kysely'
import { deleteRows, upsertRow } from '../db/rows.ts'
import type { DbOrTransaction, NewRow } from '../db/schema.ts'

export async function putAway(db: DbOrTransaction, mark: Omit<NewRow<'inbox_marks'>, 'marked_at'>): Promise<void> {
  await upsertRow(db, 'inbox_marks', { ...mark, marked_at: sql<string>`now()` }, 'user_id', 'item_key')
}

/** False when it was not put away. */
export async function restore(db: DbOrTransaction, userId: string, key: string): Promise<boolean> {
  const gone = await deleteRows(db, 'inbox_marks', { user_id: userId, item_key: key })
  return gone > 0
}

/** The job. Deletes the marks of what no longer exists or needs nobody any more. */
export async function forgetOldMarks(db: DbOrTransaction): Promise<void> {
  const id = (kind: string) => sql`substr(m.item_key, ${kind.length + 2}::integer)`
  await sql`
    delete from inbox_marks m where m.marked_at < now() - interval '1 day' and case split_part(m.item_key, '.', 1)
      when 'change_request' then not exists (
        select from change_requests where cr_id::text = ${id('change_request')} and status = 'open')
      when 'session' then not exists (
        select from project_sessions where session_id::text = ${id('session')} and status not in ('stopped', 'completed'))
      when 'question' then not exists (
        select from session_questions where question_id::text = ${id('question')} and status = 'open')
      else m.marked_at < now() - interval '30 days' end`.execute(db)
}
