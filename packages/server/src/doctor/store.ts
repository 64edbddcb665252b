/** SQL on the state of the database itself, and on what the server should reach. */
import { sql } from 'kysely'
import { type TablesVersion, tablesVersion } from '../db/migrate.ts'
import { findRow, listRows } from '../db/rows.ts'
import type { DbOrTransaction } from '../db/schema.ts'

export interface DatabaseState {
  version: string
  is_read_only: boolean
  /** It follows another PostgreSQL until it is promoted. */
  is_standby: boolean
  bytes: number
  /** In milliseconds since 1970. */
  now: number
  /** The longest statement of this database that runs at the moment, in seconds. */
  slowest_seconds: number
  slowest: string | null
  /** The longest open transaction that waits for its client, in seconds. */
  idle_transaction_seconds: number
}

export async function databaseState(db: DbOrTransaction): Promise<DatabaseState> {
  const { rows } = await sql<DatabaseState>`
    with others as (
      select state, query, extract(epoch from now() - query_start)::float8 as seconds,
        extract(epoch from now() - state_change)::float8 as waits
      from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid() and backend_type = 'client backend'
    ), slow as (
      -- One that listens or holds a lock waits by design.
      select seconds, query from others where state = 'active' and query !~* '^\\s*(listen|select pg_advisory)'
      order by seconds desc limit 1
    )
    select current_setting('server_version') as version,
      current_setting('transaction_read_only') = 'on' as is_read_only, pg_is_in_recovery() as is_standby,
      pg_database_size(current_database())::float8 as bytes,
      (extract(epoch from clock_timestamp()) * 1000)::float8 as now,
      coalesce((select seconds from slow), 0) as slowest_seconds,
      (select left(regexp_replace(query, '\\s+', ' ', 'g'), 120) from slow) as slowest,
      coalesce((select max(waits) from others where state like 'idle in transaction%'), 0) as idle_transaction_seconds`.execute(
    db,
  )
  return rows[0]!
}

/** The addresses of external repositories, one project for each. */
export async function repositoryUrls(db: DbOrTransaction): Promise<string[]> {
  const { rows } = await sql<{ repo_url: string }>`
    select distinct on (split_part(repo_url, '/', 3)) repo_url from projects
    where not managed and deleted_at is null and repo_url ~ '^(https?|ssh)://' limit 20`.execute(db)
  return rows.map((row) => row.repo_url)
}

const addressesMax = 1_000

export async function addressesOfProjects(
  db: DbOrTransaction,
): Promise<{ slug: string; account_id: string; repo_url: string }[]> {
  const { rows } = await sql<{ slug: string; account_id: string; repo_url: string }>`
    select slug, account_id, repo_url from projects
    where not managed and deleted_at is null and repo_url ~ '^[a-z]+://' order by slug limit ${addressesMax}`.execute(
    db,
  )
  return rows
}

/** False before the first start has made them. */
export async function hasTables(db: DbOrTransaction): Promise<boolean> {
  const { rows } = await sql<{ made: boolean }>`select to_regclass('held') is not null as made`.execute(db)
  return rows[0]?.made === true
}

/** The ids of the master keys that open the root key. Empty before the first start. */
export async function acceptedMasterKeys(db: DbOrTransaction): Promise<string[]> {
  // Tables of an early version, which an upgrade examines before it migrates them, have no root key.
  const { rows } = await sql<{ made: boolean }>`select to_regclass('root_keys') is not null as made`.execute(db)
  const wraps = rows[0]?.made === true ? await listRows(db, 'root_keys', {}, 'position') : []
  if (wraps.length > 0) return wraps.map(({ master_key_id }) => master_key_id)
  const installation = await findRow(db, 'installation', {})
  return installation === null ? [] : [installation.master_key_id]
}

export async function readTablesVersion(db: DbOrTransaction): Promise<TablesVersion> {
  const { rows } = await sql.raw<TablesVersion>(tablesVersion).execute(db)
  return rows[0] ?? { version: 0, writtenBy: null }
}
