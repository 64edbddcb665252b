import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import type { Config } from '../config.ts'
import { handledElsewhere } from '../deadline.ts'
import { keptServerName } from '../fleet/server-name.ts'
import { lacksDatabaseUrl } from './folder-lock.ts'
import { StartupError } from './startup-error.ts'

/** The name of the file that a restore into a PostgreSQL of the operator leaves in the data folder. */
export const otherDatabaseName = 'database-elsewhere'

/** No server has used the data folder yet, and its first start needs the same DATABASE_URL. */
export function markOtherDatabase(dataDir: string): void {
  writeFileSync(join(dataDir, otherDatabaseName), 'DATABASE_URL names the database of this folder.\n', { mode: 0o600 })
}

/**
 * Whether the server of the data folder uses a PostgreSQL that these settings do not name. A server keeps its name in the
 * folder once it has reached its database, so a first start that failed before may be repeated with either.
 */
export function lacksKnownDatabase(config: Pick<Config, 'databaseUrl' | 'dataDir'>): boolean {
  const isKnown = keptServerName(config.dataDir) !== null || existsSync(join(config.dataDir, otherDatabaseName))
  return isKnown && lacksDatabaseUrl(config)
}

/**
 * Without its database, a server would begin anew in a folder with the repositories of another one.
 */
export function refuseLackingDatabaseUrl(config: Pick<Config, 'databaseUrl' | 'dataDir'>): void {
  if (!lacksKnownDatabase(config)) return
  throw new StartupError(
    `The server of the data folder ${config.dataDir} uses a PostgreSQL of yours, and DATABASE_URL is not set. Set it as for that server. To begin anew, set SVC_DATA_DIR to an empty folder. Nothing was changed.`,
  )
}

/** For a command that needs the database and found none in the data folder. */
export function refuseCommandWithoutDatabaseUrl(config: Pick<Config, 'databaseUrl' | 'dataDir'>): void {
  if (!lacksKnownDatabase(config)) return
  throw new StartupError(
    `The server of the data folder ${config.dataDir} uses a PostgreSQL of yours, and DATABASE_URL is not set. Set it as for that server, and run the command again. Nothing was changed.`,
  )
}

/** With another database that is empty, a server would begin anew in a folder with repositories, which then look orphaned. */
export async function refuseEmptyDatabase({ databaseUrl, dataDir }: Pick<Config, 'databaseUrl' | 'dataDir'>) {
  if (databaseUrl === null || !existsSync(join(dataDir, 'postgres', 'PG_VERSION'))) return
  const client = new pg.Client({ connectionString: databaseUrl })
  // Without a listener it would end the process.
  client.on('error', handledElsewhere)
  await client.connect()
  try {
    const { rows } = await client.query<{ found: string | null }>(`select to_regclass('installation') as found`)
    if (rows[0]?.found != null) return
  } finally {
    await client.end()
  }
  throw new StartupError(
    `The data folder ${dataDir} has a database of its own, and the one of DATABASE_URL is empty. Move the data there first (svc self-host move-database), or unset DATABASE_URL. To begin anew, set SVC_DATA_DIR to an empty folder.`,
  )
}
