/** SQL on when sessions and their sandboxes were last in use. */
import { sql } from 'kysely'
import type { Db, DbOrTransaction } from '../db/schema.ts'
import { abortedCode, type TurnFailure } from './conversation.ts'
import { isWaiting } from './questions/store.ts'
import { tellSession } from './tell.ts'

/** Says at a running session what is wrong with it, or that nothing is any more. */
export async function noteTrouble(
  db: DbOrTransaction,
  sessionId: string,
  generation: number,
  what: string | null,
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('project_sessions')
    .set({ error: what, updated_at: new Date() })
    .where('session_id', '=', sessionId)
    .where('generation', '=', generation)
    .where('status', '=', 'running')
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/**
 * Whether the agent is at work now, and the turns that ended since it was said last, each with what went wrong in it. A
 * turn ends with its generation too, whoever is left to say so.
 */
export async function setBusy(
  db: Db,
  { sessionId, generation }: { sessionId: string; generation: number },
  { isBusy, ended, at }: { isBusy: boolean; ended: (TurnFailure | null)[]; at: Date },
): Promise<void> {
  await db.transaction().execute(async (trx) => {
    const session = await trx
      .updateTable('project_sessions')
      .set({ is_busy: isBusy, last_active_at: new Date(), ...turnsEnded(ended, at) })
      .where('session_id', '=', sessionId)
      .where('generation', '=', generation)
      .where('status', '=', 'running')
      .returningAll()
      .executeTakeFirst()
    if (session !== undefined)
      for (const failure of ended) await tellSession(trx, 'session.turn_ended', session, failure?.message ?? null)
  })
}

/** An aborted turn leaves the error of the one before as it is. */
function turnsEnded(ended: (TurnFailure | null)[], at: Date) {
  const [first] = ended
  if (first === undefined) return {}
  const errorOf = (failure: TurnFailure | null) =>
    failure === null || failure.code === abortedCode ? null : JSON.stringify({ ...failure, at: at.toISOString() })
  const newest = ended.findLast((failure) => failure?.code !== abortedCode)
  const isFirst = sql`first_turn_ended_at is null`
  return {
    ...(newest === undefined ? {} : { last_turn_error: errorOf(newest) }),
    first_turn_ended_at: sql<Date>`coalesce(first_turn_ended_at, ${at})`,
    first_turn_error: sql<string | null>`case when ${isFirst} then ${errorOf(first)}::jsonb else first_turn_error end`,
  }
}

/**
 * How long a session rests before it is stopped. An agent that waits for an answer stays
 * busy until one comes, so it has a limit of its own.
 */
export interface Rest {
  kind: 'idle' | 'waiting'
  minutes: number
}

/** One whose newest work is not kept waits for a person. `idleMinutes` is for projects whose manifest says nothing else in `[sandbox] idle_minutes`. */
export async function idleSessions(
  db: DbOrTransaction,
  { idleMinutes, waitingMinutes }: { idleMinutes: number; waitingMinutes: number },
): Promise<({ session_id: string } & Rest)[]> {
  const { rows } = await sql<{ session_id: string } & Rest>`
    select session_id, kind, minutes from project_sessions s
    left join default_branches d on d.project_id = s.project_id
    cross join lateral (
      select exists (select 1 from session_questions q where q.session_id = s.session_id
        and q.status = 'open' and q.answer is null and (q.expires_at is null or q.expires_at > now())) as waits)
      asked
    cross join lateral (
      select case when waits then 'waiting' else 'idle' end as kind,
        case when waits then ${waitingMinutes}::integer
          else coalesce((d.manifest->'sandbox'->>'idle_minutes')::integer, ${idleMinutes}::integer) end as minutes) limits
    where status = 'running' and desired = 'running' and (waits or not is_busy)
      and unkept_work is null and last_active_at < now() - make_interval(mins => minutes)
    limit 100`.execute(db)
  return rows
}

/** Marks a session that rested for that long for stopping, unless something came in since it was looked at. */
export async function markIdle(db: DbOrTransaction, sessionId: string, { kind, minutes }: Rest): Promise<boolean> {
  const hours = Math.round(minutes / 60)
  const long = hours < 2 ? `${minutes} minutes` : `${hours} hours`
  const { numUpdatedRows } = await db
    .updateTable('project_sessions')
    .set({
      desired: 'stopped',
      stop_reason:
        kind === 'waiting'
          ? `The agent waited ${long} for an answer.`
          : `Stopped after ${long} without activity. The next prompt starts it again.`,
      updated_at: new Date(),
    })
    .where('session_id', '=', sessionId)
    .where('status', '=', 'running')
    .where((eb) => (kind === 'waiting' ? isWaiting(eb) : eb('is_busy', '=', false)))
    .where('unkept_work', 'is', null)
    .where('last_active_at', '<', sql<string>`now() - make_interval(mins => ${minutes})`)
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

/** Marks a session that runs for stopping, with what it is to say of that. */
export async function stopForReason(
  db: DbOrTransaction,
  session: { session_id: string; generation: number },
  reason: string,
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('project_sessions')
    .set({ desired: 'stopped', stop_reason: reason, updated_at: new Date() })
    .where('session_id', '=', session.session_id)
    .where('generation', '=', session.generation)
    .where('status', 'in', ['provisioning', 'running'])
    .where('desired', '=', 'running')
    .executeTakeFirst()
  return numUpdatedRows > 0n
}
