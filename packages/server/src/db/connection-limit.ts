/** PostgreSQL refuses further connections for a while, as when other programs have taken the rest of `max_connections`. */
import { callbackify } from 'node:util'
import pg from 'pg'

const tooManyConnections = '53300'
/** How long a refusal counts before the pool tries to grow again. */
const refusedMs = 2_000

export function isAtConnectionLimit(error: unknown): boolean {
  return error instanceof pg.DatabaseError && error.code === tooManyConnections
}

/**
 * A pool grows whenever none of its connections is idle, and its caller fails when PostgreSQL refuses that. With this, the
 * pool is as large as PostgreSQL lets it be, and its callers wait for the connections that it has, as they do for those of
 * a full pool. Without any, they fail at once.
 */
export function keepWithinLimit(pool: pg.Pool): void {
  const { max } = pool.options
  let refusal: { error: unknown; at: number } | null = null
  const connect = pool.connect.bind(pool) as () => Promise<pg.PoolClient>
  const refused = (error: unknown): boolean => {
    if (!isAtConnectionLimit(error) || pool.totalCount === 0) return false
    refusal = { error, at: performance.now() }
    pool.options.max = pool.totalCount
    return true
  }
  const whenFree = async (): Promise<pg.PoolClient> => {
    if (refusal !== null && performance.now() - refusal.at > refusedMs) {
      refusal = null
      pool.options.max = max
    }
    try {
      return await connect()
    } catch (error) {
      if (refused(error)) return whenFree()
      // Otherwise the timeout of the wait says that the database does not answer.
      throw refusal === null || error instanceof pg.DatabaseError ? error : refusal.error
    }
  }
  const limited = (done?: Parameters<typeof pool.connect>[0]) => {
    if (done === undefined) return whenFree()
    callbackify(whenFree)((error, client) => done(error ?? undefined, client, (broken) => client?.release(broken)))
  }
  pool.connect = limited as typeof pool.connect
}
