/** SQL on when sessions and their sandboxes were last in use. */
import { sql } from 'kysely'
import type { DbOrTransaction } from '../db/schema.ts'

/** Whether the agent is at work now; a turn ends with its generation, whoever is left to say so. */
export async function setBusy(
  db: DbOrTransaction,
  sessionId: string,
  generation: number,
  isBusy: boolean,
): Promise<void> {
  await db
    .updateTable('project_sessions')
    .set({ is_busy: isBusy, last_active_at: new Date() })
    .where('session_id', '=', sessionId)
    .where('generation', '=', generation)
    .where('status', '=', 'running')
    .execute()
}

export async function idleSessions(db: DbOrTransaction, idleMinutes: number): Promise<string[]> {
  const rows = await db
    .selectFrom('project_sessions')
    .select('session_id')
    .where('status', '=', 'running')
    .where('desired', '=', 'running')
    .where('is_busy', '=', false)
    .where('last_active_at', '<', sql<string>`now() - make_interval(mins => ${idleMinutes})`)
    .limit(100)
    .execute()
  return rows.map((row) => row.session_id)
}

/** Marks an idle session for stopping, unless something came in since it was looked at. */
export async function markIdle(db: DbOrTransaction, sessionId: string, idleMinutes: number): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('project_sessions')
    .set({ desired: 'stopped', updated_at: new Date() })
    .where('session_id', '=', sessionId)
    .where('status', '=', 'running')
    .where('is_busy', '=', false)
    .where('last_active_at', '<', sql<string>`now() - make_interval(mins => ${idleMinutes})`)
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom('session_prompts')
            .select('prompt_id')
            .whereRef('session_prompts.session_id', '=', 'project_sessions.session_id')
            .where('session_prompts.status', '=', 'accepted'),
        ),
      ),
    )
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

export async function archiveSandboxes(db: DbOrTransaction, endedBefore: Date): Promise<void> {
  await db
    .updateTable('session_sandboxes')
    .set({ status: 'archived' })
    .where('status', 'in', ['stopped', 'error'])
    .where('updated_at', '<', endedBefore.toISOString())
    .execute()
}
