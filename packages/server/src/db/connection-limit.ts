/** PostgreSQL refuses further connections for a while, as when other programs have taken the rest of `max_connections`. */
import { callbackify } from 'node:util'
import pg from 'pg'
import { handledElsewhere, withDeadline } from '../deadline.ts'

const tooManyConnections = '53300'
/** How long a refusal counts before the pool tries to grow again. */
const refusedMs = 2_000

export function isAtConnectionLimit(error: unknown): boolean {
  return error instanceof pg.DatabaseError && error.code === tooManyConnections
}

export interface PoolSize {
  min: number
  max: number
}

/**
 * A pool grows whenever none of its connections is idle, and its caller fails when PostgreSQL refuses that. With this, the
 * pool is as large as PostgreSQL lets it be, and its callers wait for the connections that it has, as they do for those of
 * a full pool. Without any, they fail at once.
 */
export function keepWithinLimit(pool: pg.Pool, size: PoolSize): void {
  const { connectionTimeoutMillis: waitMsMax = 0 } = pool.options
  let refusal: { error: unknown; at: number } | null = null
  const connect = pool.connect.bind(pool) as () => Promise<pg.PoolClient>
  const refused = (error: unknown): boolean => {
    if (!isAtConnectionLimit(error) || pool.totalCount === 0) return false
    refusal = { error, at: performance.now() }
    pool.options.max = pool.totalCount
    return true
  }
  const whenFree = async (since: number): Promise<pg.PoolClient> => {
    if (refusal !== null && performance.now() - refusal.at > refusedMs) {
      refusal = null
      pool.options.max = size.max
    }
    try {
      return await connect()
    } catch (error) {
      const leftMs = since + waitMsMax - performance.now()
      if (refused(error) && leftMs > 0) return inTime(whenFree(since), leftMs, error)
      // Otherwise the timeout of the wait says that the database does not answer.
      throw refusal === null || error instanceof pg.DatabaseError ? error : refusal.error
    }
  }
  const limited = (done?: Parameters<typeof pool.connect>[0]) => {
    if (done === undefined) return whenFree(performance.now())
    callbackify(whenFree)(performance.now(), (error, client) =>
      done(error ?? undefined, client, (broken) => client?.release(broken)),
    )
  }
  pool.connect = limited as typeof pool.connect
}

/** An attempt to grow that is refused sends all who wait to the queue again, where each would wait from the start. */
function inTime(connecting: Promise<pg.PoolClient>, ms: number, error: unknown): Promise<pg.PoolClient> {
  return withDeadline(connecting, ms, () => {
    void connecting.then((client) => client.release(), handledElsewhere)
    throw error
  })
}
