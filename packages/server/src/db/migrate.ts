import pg from 'pg'
import { version } from '../version.ts'
import { MovedDatabaseError, requireDataHere } from './move/state.ts'
import { type Migration, readMigrations } from './read-migrations.ts' with { type: 'macro' }

/** In order; never edited once released. Later ones only expand, so that an old and a new server can run side by side. */
const migrations = readMigrations()

/** An arbitrary number, the same in every version of the program. The migrating process holds it. */
const migrationLock = 7_346_201

/** From this one on, a row says which svc applied it. */
const writtenByMigration = 57

export class NewerDatabaseError extends Error {
  /** `writtenBy` is null where the tables do not name it. */
  constructor(found: number, writtenBy: string | null) {
    const newer = writtenBy === null ? 'a newer svc' : `a newer svc, ${writtenBy}`
    super(
      `The data was written by ${newer} (its tables are at version ${found}, this program, svc ${version}, supports ${knownVersion}). Nothing was changed. Use ${writtenBy === null ? 'a newer svc' : `svc ${writtenBy} or newer`}, or start this one with another SVC_DATA_DIR.`,
    )
    this.name = 'NewerDatabaseError'
  }
}

export class MigrationError extends Error {
  constructor({ version, name }: Migration, cause: Error) {
    super(
      `Migration ${version} (${name}) of the database failed: ${cause.message}. It changed nothing; those before it are applied.`,
      { cause },
    )
    this.name = 'MigrationError'
  }
}

/** By which others find the connections of a move between databases, which holds the lock of migrations. */
export const moverName = 'svc-move-database'

/**
 * Migrates under a lock, each migration in a transaction of its own. Before it touches anything it throws
 * NewerDatabaseError, and MovedDatabaseError for a database whose data are elsewhere.
 */
export async function migrate(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    if (!(await tryMigrationLock(client))) {
      await refuseDuringMove(client)
      await client.query('select pg_advisory_lock($1)', [migrationLock])
    }
    await requireDataHere(client)
    await layTables(client)
  } finally {
    await client.end()
  }
}

/** For a caller that holds the lock of migrations. `upTo` leaves the tables as an earlier version made them. */
export async function layTables(client: pg.Client, upTo: number = knownVersion): Promise<void> {
  await makeMigrationsTable(client)
  const found = await requireKnownTables(client)
  const pending = migrations.filter(({ version }) => version > found && version <= upTo)
  for (const migration of pending) await apply(client, migration)
}

/** Held until the connection ends. */
export async function tryMigrationLock(client: pg.Client): Promise<boolean> {
  const { rows } = await client.query<{ taken: boolean }>('select pg_try_advisory_lock($1) as taken', [migrationLock])
  return rows[0]!.taken
}

async function refuseDuringMove(client: pg.Client): Promise<void> {
  const { rows } = await client.query(
    `select 1 from pg_locks join pg_stat_activity using (pid)
      where locktype = 'advisory' and granted and classid = 0 and objid = $1 and application_name = $2
        and database = (select oid from pg_database where datname = current_database())`,
    [migrationLock, moverName],
  )
  if (rows.length > 0)
    throw new MovedDatabaseError(
      'svc self-host move-database moves the data of this database right now. Wait until it has ended, then start the server on the database that it names.',
    )
}

/** How many migrations `migrate` would apply. Changes nothing, and throws what `migrate` throws before it begins. */
export async function countPending(url: string): Promise<number> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    await requireDataHere(client)
    const found = await requireKnownTables(client)
    return migrations.filter(({ version }) => version > found).length
  } finally {
    await client.end()
  }
}

/** The version of the tables that this program works on. */
export const knownVersion = migrations.at(-1)?.version ?? 0

export function requireKnown(found: number, writtenBy: string | null): void {
  if (found > knownVersion) throw new NewerDatabaseError(found, writtenBy)
}

/** As JSON, since the tables of another version may lack the column. */
export const tablesVersion = `
  select version, to_jsonb(m) ->> 'svc_version' as "writtenBy"
  from schema_migrations m order by version desc limit 1`

export interface TablesVersion {
  version: number
  /** Which svc applied it. */
  writtenBy: string | null
}

/** Resolves with the version of the tables. Changes nothing. */
export async function requireKnownTables(client: pg.Client): Promise<number> {
  const { rows } = await client.query<TablesVersion>(tablesVersion)
  const { version: found, writtenBy } = rows[0] ?? { version: 0, writtenBy: null }
  requireKnown(found, writtenBy)
  return found
}

async function makeMigrationsTable(client: pg.Client): Promise<void> {
  await client.query(
    'create table if not exists schema_migrations (version integer primary key, name text not null, applied_at timestamptz(3) not null default now())',
  )
}

async function apply(client: pg.Client, migration: Migration): Promise<void> {
  await client.query('begin')
  try {
    await client.query(migration.sql)
    await client.query('insert into schema_migrations (version, name) values ($1, $2)', [
      migration.version,
      migration.name,
    ])
    if (migration.version >= writtenByMigration)
      await client.query('update schema_migrations set svc_version = $2 where version = $1', [
        migration.version,
        version,
      ])
    await client.query('commit')
  } catch (error) {
    await client.query('rollback')
    throw new MigrationError(migration, error as Error)
  }
}
