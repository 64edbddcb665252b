import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import type { Config } from '../config.ts'
import { addressOf } from '../db/move/connect.ts'
import { readMove } from '../db/move/state.ts'
import { handledElsewhere } from '../deadline.ts'
import { keptServerName } from '../fleet/server-name.ts'
import { lacksDatabaseUrl } from './folder-lock.ts'
import { StartupError } from './startup-error.ts'

type Folder = Pick<Config, 'databaseUrl' | 'dataDir'>

/** The name of the file that says which PostgreSQL of the operator has the data of the folder. */
export const otherDatabaseName = 'database-elsewhere'

const markOf = (dataDir: string) => join(dataDir, otherDatabaseName)

interface KnownDatabase {
  /** The same wherever the data are: a dump, a move and a restore keep it. */
  installationId: string
  /** Without a password, for messages alone: the name of a host may change. */
  address: string
}

/** Left by a restore or a move into a PostgreSQL of the operator, and by each server that uses one. */
export function markOtherDatabase(dataDir: string, { installationId, address }: KnownDatabase): void {
  const text = `DATABASE_URL names the database of this folder.\n${installationId} ${address}\n`
  if (existsSync(markOf(dataDir)) && readFileSync(markOf(dataDir), 'utf8') === text) return
  writeFileSync(markOf(dataDir), text, { mode: 0o600 })
}

/** The data are in the folder. */
export function unmarkOtherDatabase(dataDir: string): void {
  rmSync(markOf(dataDir), { force: true })
}

/** Null without a mark, and for one of a version that kept no id. */
function markedDatabase(dataDir: string): KnownDatabase | null {
  if (!existsSync(markOf(dataDir))) return null
  const [, installationId, address = ''] = /\n([0-9a-f-]{36}) (.*)\n/.exec(readFileSync(markOf(dataDir), 'utf8')) ?? []
  return installationId === undefined ? null : { installationId, address }
}

function hasUsedDatabase(dataDir: string): boolean {
  return keptServerName(dataDir) !== null || existsSync(markOf(dataDir))
}

/**
 * Whether the server of the data folder uses a PostgreSQL that these settings do not name. A server keeps its name in the
 * folder once it has reached its database, so a first start that failed before may be repeated with either.
 */
export function lacksKnownDatabase(config: Folder): boolean {
  return hasUsedDatabase(config.dataDir) && lacksDatabaseUrl(config)
}

/**
 * Without its database, a server would begin anew in a folder with the repositories of another one.
 */
export function refuseLackingDatabaseUrl(config: Folder): void {
  if (!lacksKnownDatabase(config)) return
  throw new StartupError(
    `The server of the data folder ${config.dataDir} uses a PostgreSQL of yours, and DATABASE_URL is not set. Set it as for that server. To begin anew, set SVC_DATA_DIR to an empty folder. Nothing was changed.`,
  )
}

/** For a command that needs the database and found none in the data folder. */
export function refuseCommandWithoutDatabaseUrl(config: Folder): void {
  if (!lacksKnownDatabase(config)) return
  throw new StartupError(
    `The server of the data folder ${config.dataDir} uses a PostgreSQL of yours, and DATABASE_URL is not set. Set it as for that server, and run the command again. Nothing was changed.`,
  )
}

/** With another database, a server would begin anew in a folder with repositories, which then look orphaned. */
export async function refuseOtherDatabase({ databaseUrl, dataDir }: Folder): Promise<void> {
  if (databaseUrl === null) return
  const hasOwn = existsSync(join(dataDir, 'postgres', 'PG_VERSION'))
  if (!hasOwn && !hasUsedDatabase(dataDir)) return
  const { installationId, address, isUnfinished } = await examine(databaseUrl)
  const marked = markedDatabase(dataDir)
  // The reason why no server uses an unfinished copy comes with the migrations.
  if (isUnfinished || (installationId !== null && (marked ?? { installationId }).installationId === installationId))
    return
  if (hasOwn && marked === null)
    throw new StartupError(
      `The data folder ${dataDir} has a database of its own, and the one of DATABASE_URL is empty. Move the data there first (svc self-host move-database), or unset DATABASE_URL. To begin anew, set SVC_DATA_DIR to an empty folder.`,
    )
  throw isOther({ installationId, address }, { dataDir, marked })
}

function isOther(
  { installationId, address }: Pick<Examined, 'installationId' | 'address'>,
  { dataDir, marked }: { dataDir: string; marked: KnownDatabase | null },
): StartupError {
  const what = installationId === null ? 'is empty' : 'has the data of another installation'
  const last = marked === null ? '' : `, last at ${marked.address}`
  return new StartupError(
    `The database of DATABASE_URL (${address}) ${what}, and the server of the data folder ${dataDir} has its data in another one${last}. Set DATABASE_URL to the database that has them now; its address may be a new one. If they are lost, restore a backup into an empty folder (svc self-host restore). To begin anew, set SVC_DATA_DIR to an empty folder. Nothing was changed.`,
  )
}

/** For a command. Resolves with whether the folder is known to belong to this database; throws where it does not. */
export async function requireDatabaseOf({ dataDir }: Pick<Config, 'dataDir'>, client: pg.Client): Promise<boolean> {
  const found = await examineWith(client)
  const marked = markedDatabase(dataDir)
  if (found.isUnfinished) return false
  if (marked !== null && marked.installationId !== found.installationId) throw isOther(found, { dataDir, marked })
  if (found.installationId === null)
    throw new StartupError(
      `The database of DATABASE_URL (${found.address}) is empty: no server has run on it. Set DATABASE_URL to the database that has the data of ${dataDir}. If they are lost, restore a backup into an empty folder (svc self-host restore). Nothing was changed.`,
    )
  return marked !== null
}

/** The server uses the database of DATABASE_URL from now on. */
export async function keepDatabase({ databaseUrl, dataDir }: Folder): Promise<void> {
  if (databaseUrl === null) return
  const { installationId, address } = await examine(databaseUrl)
  if (installationId !== null) markOtherDatabase(dataDir, { installationId, address })
}

/** After a move. The folder of the command need not be that of the server. */
export async function keepMovedDatabase({ databaseUrl, dataDir }: Folder): Promise<void> {
  if (!hasUsedDatabase(dataDir)) return
  if (databaseUrl === null) return unmarkOtherDatabase(dataDir)
  const { installationId, address } = await examine(databaseUrl)
  const marked = markedDatabase(dataDir)
  if (installationId !== null && (marked === null || marked.installationId === installationId))
    markOtherDatabase(dataDir, { installationId, address })
}

interface Examined {
  /** Null: no server has used the database. */
  installationId: string | null
  address: string
  /** A move or a restore has not finished there. */
  isUnfinished: boolean
}

async function examine(url: string): Promise<Examined> {
  const client = new pg.Client({ connectionString: url })
  // Without a listener it would end the process.
  client.on('error', handledElsewhere)
  await client.connect()
  try {
    return await examineWith(client)
  } finally {
    await client.end()
  }
}

async function examineWith(client: pg.Client): Promise<Examined> {
  const { rows: found } = await client.query<{ found: string | null }>(`select to_regclass('installation') as found`)
  const { rows } =
    found[0]?.found == null
      ? { rows: [] }
      : await client.query<{ installation_id: string }>('select installation_id from installation')
  const move = await readMove(client)
  return {
    installationId: rows[0]?.installation_id ?? null,
    address: addressOf(client),
    isUnfinished: move !== null && move.state !== 'arrived' && move.state !== 'left',
  }
}
