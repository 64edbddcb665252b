import { sql } from 'kysely'
import type { DbOrTransaction } from '../../db/schema.ts'

const atOnce = 200

/**
 * Deletes the messages, attachments and prompts of sessions that have rested for so many days, also those that their
 * agents never got. Such a session keeps its name, branch and unfinished work, and can be restarted.
 */
export async function deleteOldTranscripts(db: DbOrTransaction, days: number): Promise<void> {
  await sql`
    with old as (
      update project_sessions set transcript_deleted_at = now(), initial_prompt = null where session_id in (
        select session_id from project_sessions
        where status in ('stopped', 'failed', 'completed')
          and last_active_at < now() - make_interval(days => ${days}::integer)
          and (transcript_deleted_at is null or transcript_deleted_at < last_active_at or initial_prompt is not null)
        order by last_active_at limit ${atOnce} for update skip locked)
      returning session_id
    ), messages as (
      delete from session_messages where session_id in (select session_id from old)
    ), attachments as (
      delete from session_attachments where session_id in (select session_id from old)
    ), questions as (
      delete from session_questions where session_id in (select session_id from old) and status <> 'open'
    )
    delete from session_prompts where session_id in (select session_id from old)`.execute(db)
}
