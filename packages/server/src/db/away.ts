/** Telling that the database cannot be reached, or went away under a question, from what it answers. */
import pg from 'pg'

/** The very errors by which connections of ours broke, whatever their code: other sockets have the same ones. */
const lost = new WeakSet<Error>()

/** A connection that breaks while a question uses it would else end the process: the pool hears of idle ones only. */
export function watchConnections(pool: pg.Pool): void {
  pool.on('connect', (client) => void client.on('error', (error) => void lost.add(error)))
}

const connectionCodes = new Set(['ECONNREFUSED', 'ECONNRESET', 'ENOENT', 'EPIPE', 'ETIMEDOUT'])

/** The driver's own words have no code. */
const driverWords = [
  /^timeout exceeded when trying to connect$/,
  /^Connection terminated/,
  / and is not queryable$/,
  /^Query read timeout$/,
]

/** Connection failures, class 08, class 57P (the server shuts down, starts up or ends what another process broke) and 53300 (no connection free). */
export function isDatabaseAway(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const { code } = error as { code?: unknown }
  if (error instanceof pg.DatabaseError) return typeof code === 'string' && /^(57P|08|53300)/.test(code)
  if (lost.has(error)) return true
  if (typeof code === 'string' && connectionCodes.has(code) && 'syscall' in error && error.syscall === 'connect')
    return true
  return driverWords.some((words) => words.test(error.message))
}
