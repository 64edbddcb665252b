import { type Expression, type RawBuilder, sql } from 'kysely'

/** The advisory lock that a server holds as long as it lives, by the name of its row. */
export const instanceLock = sql`hashtextextended('svc instance ' || instance_id::text, 0)`

/**
 * Whether a server that claimed something lives: its heartbeat is young, and nobody can take the lock it holds. A process
 * that is killed loses the lock with its connection, at once; of one whose machine is gone only the heartbeat tells.
 * A lock that was taken before the database itself began is gone without its holder being so, and proves nothing.
 * A connection that is lost alone is replaced within moments, in which a living server may look dead: who asks here
 * must do no harm by going on with the work of one that is still at it.
 */
export function isLiving(instanceId: Expression<string>, deadAfterSeconds: number): RawBuilder<boolean> {
  return sql<boolean>`exists (select 1 from server_instances where instance_id = ${instanceId}
    and heartbeat_at > now() - make_interval(secs => ${deadAfterSeconds})
    and case when lock_taken_at > pg_postmaster_start_time()
      then not pg_try_advisory_xact_lock_shared(${instanceLock}) else true end)`
}
