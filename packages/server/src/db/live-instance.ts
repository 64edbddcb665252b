import { type Expression, type RawBuilder, sql } from 'kysely'

/** The advisory lock that a server holds while it runs, keyed by its row's id. */
export const instanceLock = sql`hashtextextended('svc instance ' || instance_id::text, 0)`

/**
 * Whether the server that claimed something is alive: its heartbeat is recent and its lock is held. A killed process
 * loses the lock at once with its connection; for a dead machine only the heartbeat tells. A lock taken before the
 * database last started is lost without its holder being dead, so it proves nothing. A lost connection is replaced
 * within moments, during which a live server may look dead: a caller must do no harm by taking over work that is
 * still running.
 */
export function isServerAlive(instanceId: Expression<string>, deadAfterSeconds: number): RawBuilder<boolean> {
  return sql<boolean>`exists (select 1 from server_instances where instance_id = ${instanceId}
    and heartbeat_at > now() - make_interval(secs => ${deadAfterSeconds})
    and case when lock_taken_at > pg_postmaster_start_time()
      then not pg_try_advisory_xact_lock_shared(${instanceLock}) else true end)`
}
