import { Kysely, PostgresDialect, type PostgresPoolClient, sql } from 'kysely'
import { callbackify } from 'node:util'
import pg from 'pg'
import type { Logger } from 'pino'
import { keepWithinLimit, type PoolSize } from './connection-limit.ts'
import { limitAnswers } from './limit-answers.ts'
import { reserveConnections } from './reserve-connections.ts'
import { leaveReadOnly, watchConnections } from './unavailable.ts'
import type { Db, Schema } from './schema.ts'
import { valueFormat } from './value-format.ts'

const timestamptz = 1184
const int8 = 20

const format = Object.entries(valueFormat)
  .map(([name, value]) => `-c ${name}=${value}`)
  .join(' ')

const types = new pg.TypeOverrides()
types.setTypeParser(timestamptz, isoTime)
types.setTypeParser(int8, Number)

/** Connections use UTC. A long list has thousands of times, and going through a Date costs more than the rest of a row. */
export function isoTime(text: string): string {
  const usual = /^(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d)(?:\.(\d{1,6}))?\+00$/.exec(text)
  if (usual) return `${usual[1]}T${usual[2]}.${(usual[3] ?? '').slice(0, 3).padEnd(3, '0')}Z`
  return new Date(text.replace(' ', 'T').replace(/([+-]\d\d)$/, '$1:00')).toISOString()
}

export interface Database {
  db: Db
  /** Connections that hold an advisory lock while its owner works over `db`: a separate pool, so that holders never wait for themselves. */
  locks: pg.Pool
  /** Both, by their names in GET /metrics. */
  pools: Record<'queries' | 'locks', pg.Pool>
  /** At the start of a server. Throws a StartupError where it would be allowed too few connections to merge. */
  reserve(): Promise<void>
  /** From now on each new connection of both pools is used only if `check` does not throw. */
  guard(check: CheckConnection): void
  close(): Promise<void>
}

type CheckConnection = (connection: Pick<pg.ClientBase, 'query'>) => Promise<void>

export interface DatabaseOptions {
  /** By which others find the connections of this server. */
  applicationName?: string
  connectMsMax?: number
  /** PostgreSQL ends a statement, or a single wait for an advisory lock, after this time. */
  statementMsMax?: number
  /** Longer than the former: otherwise a slow statement would break its connection. */
  answerMsMax?: number
}

/**
 * A caller that waits longer than `connectMsMax` for a connection, or `answerMsMax` for an answer, gets the error that
 * the database is unavailable.
 */
export function openDatabase(url: string, log: Logger, options: DatabaseOptions = {}): Database {
  const { applicationName, connectMsMax = 5_000, statementMsMax = 30_000 } = options
  const { answerMsMax = statementMsMax + 5_000 } = options
  let lostAt = Number.NEGATIVE_INFINITY
  let isClosing = false
  let check: CheckConnection | null = null
  const verify = (client: pg.PoolClient, done: (error?: unknown) => void) => {
    if (check === null || isClosing) done()
    else callbackify(check)(client, done)
  }
  // Those that a quiet server keeps serve it when other programs take all the others.
  const make = (size: PoolSize, limits: string) => {
    const pool = new pg.Pool({
      connectionString: url,
      ...(applicationName === undefined ? {} : { application_name: applicationName }),
      ...size,
      types,
      connectionTimeoutMillis: connectMsMax,
      idleTimeoutMillis: 60_000,
      options: `${format} ${limits} -c idle_in_transaction_session_timeout=30000`,
      // The types of the pool lack this option.
      ...({ verify } as object),
    })
    // The pool replaces an idle connection that died (a restarted database); without a listener its error would end
    // the process.
    pool.on('error', (error) => {
      // All connections die at once with their database, so log the first only. At the end of the server they all go.
      const isFirst = performance.now() - lostAt > 10_000
      lostAt = performance.now()
      log[isFirst && !isClosing ? 'warn' : 'debug'](
        // Not the error itself: it holds the whole client, including the key that cancels its queries.
        { reason: error.message },
        'a database connection was lost; it is replaced on the next use',
      )
    })
    watchConnections(pool)
    leaveReadOnly(pool)
    keepWithinLimit(pool, size)
    limitAnswers(pool, answerMsMax)
    return pool
  }
  const sizes = { queries: { min: 4, max: 20 }, locks: { min: 5, max: 12 } }
  const pool = make(sizes.queries, `-c statement_timeout=${statementMsMax}`)
  // A waiter waits as long as the holder works, by one statement after the other (`withLock`). One connection listens
  // for events, one wakes the jobs, and one hears of homes that change.
  const locks = make(sizes.locks, `-c statement_timeout=0 -c lock_timeout=${statementMsMax}`)
  const db = new Kysely<Schema>({ dialect: new PostgresDialect({ pool }) })
  const pools = { queries: pool, locks }
  return {
    db,
    locks,
    pools,
    reserve: () => reserveConnections({ db, pools, log }, sizes),
    guard: (given) => void (check = given),
    async close() {
      isClosing = true
      await Promise.all([db.destroy(), locks.end()])
    },
  }
}

/** Throws when the database does not answer. It may be read-only, as a standby is until it is promoted. */
export async function pingDatabase(db: Db): Promise<{ isReadOnly: boolean }> {
  const { rows } = await sql<{ isReadOnly: boolean }>`
    select current_setting('transaction_read_only') = 'on' as "isReadOnly"`.execute(db)
  return { isReadOnly: rows[0]?.isReadOnly === true }
}

/** The statements of one connection, such as one with a snapshot. */
export function onConnection(client: pg.Client): Db {
  const query = (text: string, values: readonly unknown[]) => client.query({ text, values: [...values], types })
  const connection = { query, release: () => {} } as unknown as PostgresPoolClient
  return new Kysely<Schema>({
    dialect: new PostgresDialect({ pool: { options: {}, connect: async () => connection, end: async () => {} } }),
  })
}
