/** The conditions by which servers tell whether another server is dead, so that they may take over what it claimed. */
import { type Expression, type RawBuilder, sql } from 'kysely'

/** The advisory lock that a server holds while it runs, keyed by its row's id. */
export const instanceLock = sql`hashtextextended('svc instance ' || instance_id::text, 0)`

/** A server without a heartbeat for this long counts as dead. */
export const staleSeconds = 20

/** A server replaces a lost connection within moments. One whose lock stays free for this long is dead. */
export const lostSecondsMax = 5

/**
 * Whether the server that claimed something is dead, so that work may be taken over that would run twice otherwise: it
 * has ended, its lock has been free for five seconds, or its heartbeat is old. The lock ends with a killed process; for
 * a dead machine only the heartbeat tells. `scheduler/watch-instances.ts` records since when a lock is free.
 */
export function isServerDead(instanceId: Expression<string>, deadAfterSeconds: number): RawBuilder<boolean> {
  return sql<boolean>`not exists (select from server_instances where instance_id = ${instanceId}
    and ${isRecent(deadAfterSeconds)})`
}

/** The same for a row of `server_instances` itself. */
export function isRecent(deadAfterSeconds: number): RawBuilder<boolean> {
  return sql<boolean>`heartbeat_at > now() - make_interval(secs => ${deadAfterSeconds})
    and (lock_lost_at is null or lock_lost_at > now() - make_interval(secs => ${lostSecondsMax}))`
}

/** A lock that was taken before the database last started is lost without its holder being dead, so it proves nothing. */
export const hasFreeLock = sql<boolean>`case when lock_taken_at > pg_postmaster_start_time()
  then pg_try_advisory_xact_lock_shared(${instanceLock}) else false end`

/**
 * Whether the server that claimed something holds its lock at this moment. A live server that replaces its connection
 * does not: a caller must do no harm by taking over work that is still running.
 */
export function isServerConnected(instanceId: Expression<string>, deadAfterSeconds: number): RawBuilder<boolean> {
  return sql<boolean>`exists (select 1 from server_instances where instance_id = ${instanceId}
    and ${isConnected(deadAfterSeconds)})`
}

/** The same for a row of `server_instances` itself. */
export function isConnected(deadAfterSeconds: number): RawBuilder<boolean> {
  return sql<boolean>`${isRecent(deadAfterSeconds)} and not ${hasFreeLock}`
}

/** The same without a doubt, also after the database itself started again: a live server takes its lock anew. */
export function isRunning(deadAfterSeconds: number): RawBuilder<boolean> {
  return sql<boolean>`${isConnected(deadAfterSeconds)} and lock_taken_at > pg_postmaster_start_time()`
}
