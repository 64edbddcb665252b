/** Tells an unreachable database, or a connection lost during a query, from an error the database reports. */
import pg from 'pg'
import { isAtConnectionLimit } from './connection-limit.ts'

/** The errors that broke our connections. Identity counts, since other sockets report the same codes. */
const lost = new WeakSet<Error>()

/**
 * A session that began while its database was read-only stays so after the database accepts changes again. One that
 * was refused for it is not used again.
 */
export function leaveReadOnly(pool: pg.Pool): void {
  const refused = new WeakSet<pg.PoolClient>()
  pool.on('connect', (client) => {
    client.connection.on('errorMessage', ({ code }: { code?: unknown }) => {
      if (code === readOnly) refused.add(client)
    })
  })
  pool.on('release', (_error, client) => {
    if (refused.has(client)) void client.end()
  })
}

/** Without a listener, a connection that breaks during a query would end the process: the pool listens to idle ones only. */
export function watchConnections(pool: pg.Pool): void {
  pool.on('connect', (client) => void client.on('error', noteLost))
  // A connection that breaks while it is made emits no event.
  const connect = pool.connect.bind(pool)
  const watched = (done?: Parameters<typeof connect>[0]) => {
    if (done === undefined) return connect().catch((error: unknown) => Promise.reject(noted(error)))
    return connect((error, client, release) => done(noted(error), client, release))
  }
  pool.connect = watched as typeof pool.connect
}

/** The listener of a connection outside the pools. Its queries fail with the same error. */
export function noteLost(error: Error): void {
  lost.add(error)
}

/** Whether a connection was lost, as opposed to one that was refused. */
export const isConnectionLost = (error: unknown) => error instanceof Error && lost.has(error)

function noted<T>(error: T): T {
  if (error instanceof Error && connectionCodes.has(String((error as { code?: unknown }).code))) lost.add(error)
  return error
}

const connectionCodes = new Set(['ECONNREFUSED', 'ECONNRESET', 'ENOENT', 'EPIPE', 'ETIMEDOUT'])

/** Messages of the driver, which have no code. */
const driverMessages = [
  /^timeout exceeded when trying to connect$/,
  /^Connection terminated/,
  / and is not queryable$/,
  /^Query read timeout$/,
]

/** As a standby does until it is promoted. */
const readOnly = '25006'

/** Connection failures: class 08, class 57P (the server shuts down, starts up, or ends after another process crashed) and 53300 (too many connections), and a database that is read-only. */
export function isDatabaseUnavailable(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const { code } = error as { code?: unknown }
  if (error instanceof pg.DatabaseError)
    return typeof code === 'string' && (/^(57P|08|53300)/.test(code) || code === readOnly)
  if (lost.has(error)) return true
  if (typeof code === 'string' && connectionCodes.has(code) && 'syscall' in error && error.syscall === 'connect')
    return true
  return driverMessages.some((pattern) => pattern.test(error.message))
}

export function isReadOnly(error: unknown): error is pg.DatabaseError {
  return error instanceof pg.DatabaseError && error.code === readOnly
}

/** `error` is one of an unavailable database. */
export function unavailableText(error: unknown): string {
  if (isAtConnectionLimit(error)) return 'The database accepts no more connections.'
  return isReadOnly(error) ? 'The database is read-only, as during a failover.' : 'The database does not answer.'
}

/** serialization_failure, deadlock_detected, lock_not_available, and query_canceled, as by `statement_timeout`. */
const givenUp = new Set(['40001', '40P01', '55P03', '57014'])

/** PostgreSQL undid the transaction for the sake of another one, or a statement waited too long: the same request may succeed. */
export function isTransactionGivenUp(error: unknown): boolean {
  return error instanceof pg.DatabaseError && givenUp.has(error.code ?? '')
}
