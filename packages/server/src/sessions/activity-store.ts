/** SQL on the activity of sessions: turns, idle time and stop reasons. */
import { count } from '@svc/contract/count'
import { sql } from 'kysely'
import { isAtHome } from '../db/home.ts'
import { updateRow, updateRows } from '../db/rows.ts'
import type { Db, DbOrTransaction } from '../db/schema.ts'
import { abortedCode, type TurnFailure } from './conversation/assemble.ts'
import { isWaiting } from './questions/store.ts'
import { recordSessionEvent } from './record-event.ts'

export async function setSessionError(
  db: DbOrTransaction,
  sessionId: string,
  generation: number,
  error: string | null,
): Promise<boolean> {
  const running = { session_id: sessionId, generation, status: 'running' } as const
  return (await updateRows(db, 'project_sessions', running, { error, updated_at: new Date() })) > 0
}

/** Records whether the agent is busy, and the turns that ended since the last call, each with its failure. */
export async function setBusy(
  db: Db,
  { sessionId, generation }: { sessionId: string; generation: number },
  { isBusy, ended, at }: { isBusy: boolean; ended: (TurnFailure | null)[]; at: Date },
): Promise<void> {
  await db.transaction().execute(async (trx) => {
    const running = { session_id: sessionId, generation, status: 'running' } as const
    const set = { is_busy: isBusy, last_active_at: new Date(), ...turnsEnded(ended, at) }
    const session = await updateRow(trx, 'project_sessions', running, set)
    if (session !== null)
      for (const failure of ended)
        await recordSessionEvent(trx, 'session.turn_ended', session, failure?.message ?? null)
  })
}

/** An aborted turn keeps the error of the turn before it. */
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

/** How long a session is idle before it stops. An agent that waits for an answer is busy, so it has its own limit. */
interface IdleLimit {
  kind: 'idle' | 'waiting'
  minutes: number
}

/** Excludes sessions with unsaved work. `idleMinutes` applies without `[sandbox] idle_minutes`. An invalid manifest does not affect running sessions. */
export async function idleSessions(
  db: DbOrTransaction,
  { idleMinutes, waitingMinutes, home }: { idleMinutes: number; waitingMinutes: number; home: string | null },
): Promise<({ session_id: string } & IdleLimit)[]> {
  const { rows } = await sql<{ session_id: string } & IdleLimit>`
    select session_id, kind, minutes from project_sessions s
    left join default_branches d on d.project_id = s.project_id
    left join lateral (select in_force from session_sandboxes made
      where made.session_id = s.session_id and made.generation = s.generation) sandbox on true
    cross join lateral (
      select exists (select 1 from session_questions q where q.session_id = s.session_id
        and q.status = 'open' and q.answer is null and (q.expires_at is null or q.expires_at > now())) as waits)
      asked
    cross join lateral (
      select case when waits then 'waiting' else 'idle' end as kind,
        case when waits then ${waitingMinutes}::integer
          else coalesce((case when d.issues @> '[{"severity": "error"}]' and sandbox.in_force is not null
            then sandbox.in_force->>'idle_minutes' else d.manifest->'sandbox'->>'idle_minutes' end)::integer,
            ${idleMinutes}::integer) end as minutes) limits
    where status = 'running' and desired = 'running' and (waits or not is_busy)
      and ${isAtHome(sql.ref('s.project_id'), home)}
      and unkept_work is null and last_active_at < now() - make_interval(mins => minutes)
    limit 100`.execute(db)
  return rows
}

/** Requests the stop of a session that was idle that long, unless it became active meanwhile. */
export async function markIdle(db: DbOrTransaction, sessionId: string, { kind, minutes }: IdleLimit): Promise<boolean> {
  const hours = Math.round(minutes / 60)
  const long = hours < 2 ? count(minutes, 'minute') : count(hours, 'hour')
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
    .where((eb) => eb.and({ session_id: sessionId, status: 'running' }))
    .where((eb) => (kind === 'waiting' ? isWaiting(eb) : eb('is_busy', '=', false)))
    .where('unkept_work', 'is', null)
    .where('last_active_at', '<', sql<string>`now() - make_interval(mins => ${minutes})`)
    .where(
      sql<boolean>`not exists (select from session_prompts where session_prompts.session_id = project_sessions.session_id
        and session_prompts.status = 'accepted')`,
    )
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/** Requests the stop of a running session with a reason that the session shows. */
export async function stopForReason(
  db: DbOrTransaction,
  { session_id, generation }: { session_id: string; generation: number },
  reason: string,
): Promise<boolean> {
  const live = { session_id, generation, status: ['provisioning', 'running'], desired: 'running' } as const
  const set = { desired: 'stopped', stop_reason: reason, updated_at: new Date() } as const
  return (await updateRows(db, 'project_sessions', live, set)) > 0
}

/** Records the use of a session at most once a minute, because a page may send hundreds of requests per second. */
export async function touchSession(db: DbOrTransaction, sessionId: string): Promise<void> {
  await sql`update project_sessions set last_active_at = now()
    where session_id = ${sessionId} and last_active_at < now() - interval '1 minute'`.execute(db)
}
