import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import type { Config } from '../config.ts'
import { addressOf } from '../db/move/connect.ts'
import { type Move, readMove } from '../db/move/state.ts'
import type { ReachedDatabase } from '../db/embedded/reach.ts'
import { handledElsewhere } from '../deadline.ts'
import { keptServerName } from '../fleet/server-name.ts'
import { projectOfFolder, storedProjects } from '../projects/mirrors/stored-repositories.ts'
import { readFolderId } from './folder-lock.ts'
import { type RecordedFolder, whyNotFirst } from './folder-records.ts'
import { StartupError } from './startup-error.ts'

type Folder = Pick<Config, 'databaseUrl' | 'dataDir'>

/** The name of the file that says which PostgreSQL of the operator has the data of the folder. */
export const otherDatabaseName = 'database-elsewhere'

/** The same for the embedded database, since its id is not known without a start of it. At most one of the two files is there. */
export const ownDatabaseName = 'database-here'

const markOf = (dataDir: string) => join(dataDir, otherDatabaseName)
const hasMark = (dataDir: string) => existsSync(markOf(dataDir))
const hasOwnDatabase = (dataDir: string) => existsSync(join(dataDir, 'postgres', 'PG_VERSION'))

interface KnownDatabase {
  /** The same wherever the data are: a dump, a move and a restore keep it. */
  installationId: string
  /** Without a password, for messages alone: the name of a host may change. */
  address: string
}

/** Left by a restore or a move into a PostgreSQL of the operator, and by each server that uses one. */
export function markOtherDatabase(dataDir: string, { installationId, address }: KnownDatabase): void {
  writeIfOther(markOf(dataDir), `DATABASE_URL names the database of this folder.\n${installationId} ${address}\n`)
  rmSync(join(dataDir, ownDatabaseName), { force: true })
}

/** Left by a restore into the embedded database, and by each server that uses it. */
export function markOwnDatabase(dataDir: string, { installationId }: Pick<KnownDatabase, 'installationId'>): void {
  writeIfOther(
    join(dataDir, ownDatabaseName),
    `The embedded database has the data of this folder.\n${installationId}\n`,
  )
  rmSync(markOf(dataDir), { force: true })
}

function writeIfOther(path: string, text: string): void {
  if (existsSync(path) && readFileSync(path, 'utf8') === text) return
  writeFileSync(path, text, { mode: 0o600 })
}

/** Null without a mark, and for one of a version that kept no id. */
function markedDatabase(dataDir: string): KnownDatabase | null {
  if (!hasMark(dataDir)) return null
  const [, installationId, address = ''] = /\n([0-9a-f-]{36}) (.*)\n/.exec(readFileSync(markOf(dataDir), 'utf8')) ?? []
  return installationId === undefined ? null : { installationId, address }
}

/** Null for a folder of an earlier version. */
function ownInstallation(dataDir: string): string | null {
  const path = join(dataDir, ownDatabaseName)
  return existsSync(path) ? (/\n([0-9a-f-]{36})\n/.exec(readFileSync(path, 'utf8'))?.[1] ?? null) : null
}

export function hasUsedDatabase(dataDir: string): boolean {
  return keptServerName(dataDir) !== null || hasMark(dataDir)
}

interface Lacking {
  says: string
  mend: string
  /** How to begin without these data; by default in another folder. */
  anew?: string
}

/**
 * Whether these settings name no database, and the folder has data of one that is not there. A server keeps its name in
 * the folder once it has reached its database, so a first start that failed before may be repeated with either.
 */
export function lackingDatabase(config: RecordedFolder): Lacking | null {
  const { databaseUrl, dataDir } = config
  if (databaseUrl !== null || hasOwnDatabase(dataDir)) return null
  const folder = join(dataDir, 'postgres')
  if (hasMark(dataDir))
    return {
      says: `The server of the data folder ${dataDir} uses a PostgreSQL of yours, and DATABASE_URL is not set.`,
      mend: 'Set it as for that server.',
    }
  const lost = `Put the folder back where it was moved, or mount its disk. If it is lost, restore a backup into an empty folder (svc self-host restore), and keep ${dataDir}: its repositories have what was pushed since.`
  if (existsSync(join(dataDir, ownDatabaseName)))
    return { says: `The embedded database of the data folder ${dataDir} is gone: it was in ${folder}.`, mend: lost }
  if (keptServerName(dataDir) === null && !hasRepositories(dataDir)) return whyNotFirst(config)
  return {
    says: `The data folder ${dataDir} has data of a server and not its database: there is none in ${folder}, and DATABASE_URL is not set.`,
    mend: `If that server uses a PostgreSQL of yours, set DATABASE_URL as for it. Otherwise, its embedded database is gone. ${lost}`,
  }
}

/** As a restore leaves them before the first start. */
function hasRepositories(dataDir: string): boolean {
  const folder = join(dataDir, 'repositories')
  return existsSync(folder) && readdirSync(folder).some((name) => projectOfFolder(name) !== null)
}

/** Without its database, a server would begin anew in a folder with the repositories of another one. */
export function refuseLackingDatabase(config: RecordedFolder): void {
  const lacking = lackingDatabase(config)
  if (lacking === null) return
  throw new StartupError(
    `${lacking.says} ${lacking.mend} ${lacking.anew ?? 'To begin anew, set SVC_DATA_DIR to an empty folder.'} Nothing was changed.`,
  )
}

/** For a command that needs the database and found none in the data folder. */
export function refuseCommandWithoutDatabase(config: RecordedFolder): void {
  const lacking = lackingDatabase(config)
  if (lacking === null) return
  throw new StartupError(`${lacking.says} ${lacking.mend} Then run the command again. Nothing was changed.`)
}

/** For a move into the embedded database without the address from which the data should move. */
export function refuseMoveWithoutUrl(dataDir: string): void {
  if (!hasMark(dataDir)) return
  const marked = markedDatabase(dataDir)
  throw new StartupError(
    `DATABASE_URL is not set, and the data of ${dataDir} are in a PostgreSQL of yours${marked === null ? '' : ` (${marked.address})`}, not in the embedded database. To move them there, set DATABASE_URL to that PostgreSQL and run the command again. Nothing was changed.`,
  )
}

/** Whether there is an embedded database, which has only the data of before. For the doctor, which does not start it. */
export function hasDataOfBefore({ databaseUrl, dataDir }: Folder): boolean {
  return databaseUrl === null && hasOwnDatabase(dataDir) && hasMark(dataDir)
}

/**
 * With another database, a server would begin anew in a folder with repositories, which then look orphaned, or go on with
 * data of before. `url` is that of the database, which may be the embedded one.
 */
export async function refuseOtherDatabase({ databaseUrl, dataDir }: Folder, url: string): Promise<void> {
  if (databaseUrl === null)
    return hasMark(dataDir) ? withClient(url, (own) => refuseDataOfBefore(dataDir, own)) : undefined
  const hasOwn = hasOwnDatabase(dataDir)
  if (!hasOwn && !hasUsedDatabase(dataDir)) return
  const found = await withClient(url, async (client) => {
    const examined = await examineWith(client)
    const isKnown = examined.installationId !== null && (await hasDataOf(dataDir, client, examined.installationId))
    return { ...examined, isKnown }
  })
  // The reason why no server uses an unfinished copy comes with the migrations.
  if (isUnfinished(found) || found.isKnown) return
  const marked = markedDatabase(dataDir)
  if (hasOwn && marked === null) throw isBesideOwn(found, dataDir)
  throw isOther(found, { dataDir, marked })
}

/** For a command that has started the embedded database. */
export async function refuseReachedDatabase(config: Folder, reached: ReachedDatabase): Promise<void> {
  if (config.databaseUrl === null)
    await refuseOtherDatabase(config, reached.url).catch((error: unknown) =>
      reached.end().then(() => Promise.reject(error)),
    )
}

/** Where the folder's server has used a PostgreSQL of the operator since. The data that a move left are marked themselves. */
export async function refuseDataOfBefore(dataDir: string, own: pg.Client): Promise<void> {
  if (!hasMark(dataDir)) return
  const found = await examineWith(own)
  if (isUnfinished(found) || found.move?.state === 'left') return
  const marked = markedDatabase(dataDir)
  throw new StartupError(
    `The server of the data folder ${dataDir} last used a PostgreSQL of yours${marked === null ? '' : ` (${marked.address})`}, and DATABASE_URL does not name it. Set it as for that server. The embedded database in that folder has only the data of before. To bring the newer data there, move ${join(dataDir, 'postgres')} away and run svc self-host move-database embedded with that DATABASE_URL. To go on with the data of before, remove the file ${markOf(dataDir)}. Nothing was changed.`,
  )
}

/** Without a mark, as in a folder of an earlier version, the server's id and projects tell. */
async function hasDataOf(dataDir: string, client: pg.Client, installationId: string): Promise<boolean> {
  const hasOwn = hasOwnDatabase(dataDir)
  const expected = markedDatabase(dataDir)?.installationId ?? (hasOwn ? ownInstallation(dataDir) : null)
  if (expected !== null) return expected === installationId
  const folder = { config: { dataDir } }
  const stored = [...(await storedProjects(folder, 'repositories')), ...(await storedProjects(folder, 'mirrors'))]
  const { rows: projects } = await client.query('select 1 from projects where project_id::text = any($1) limit 1', [
    stored,
  ])
  if (projects.length > 0) return true
  const { rows: tables } = await client.query<{ found: string | null }>(`select to_regclass('servers') as found`)
  if (tables[0]?.found == null) return stored.length === 0
  const { rows: servers } = await client.query('select 1 from servers where data_folder = $1', [readFolderId(dataDir)])
  // A new folder has no repositories, and may join the servers of a database.
  return servers.length > 0 || (stored.length === 0 && !hasOwn)
}

function isBesideOwn({ installationId, address }: Examined, dataDir: string): StartupError {
  if (installationId === null)
    return new StartupError(
      `The data folder ${dataDir} has a database of its own, and the one of DATABASE_URL is empty. Move the data there first (svc self-host move-database), or unset DATABASE_URL. To begin anew, set SVC_DATA_DIR to an empty folder.`,
    )
  return new StartupError(
    `The data folder ${dataDir} has a database of its own, and the one of DATABASE_URL (${address}) has the data of another installation. Unset DATABASE_URL, or set it to a database with the data of this folder. For a server on the other data, set SVC_DATA_DIR to its own folder, or to an empty one. If the folder's own database is needed no more, move ${join(dataDir, 'postgres')} away. Nothing was changed.`,
  )
}

function isOther(
  { installationId, address }: Pick<Examined, 'installationId' | 'address'>,
  { dataDir, marked }: { dataDir: string; marked: KnownDatabase | null },
): StartupError {
  const what = installationId === null ? 'is empty' : 'has the data of another installation'
  const last = marked === null ? '' : `, last at ${marked.address}`
  const wrong =
    marked === null
      ? ''
      : ` If the folder has no data of that installation, the file ${markOf(dataDir)} is wrong: remove it.`
  return new StartupError(
    `The database of DATABASE_URL (${address}) ${what}, and the server of the data folder ${dataDir} has its data in another one${last}. Set DATABASE_URL to the database that has them now; its address may be a new one. If they are lost, restore a backup into an empty folder (svc self-host restore). To begin anew, set SVC_DATA_DIR to an empty folder.${wrong} Nothing was changed.`,
  )
}

/** For a command. Resolves with whether the folder is known to belong to this database; throws where it does not. */
export async function requireDatabaseOf({ dataDir }: Pick<Config, 'dataDir'>, client: pg.Client): Promise<boolean> {
  const found = await examineWith(client)
  const marked = markedDatabase(dataDir)
  if (isUnfinished(found)) return false
  if (marked !== null && marked.installationId !== found.installationId) throw isOther(found, { dataDir, marked })
  if (found.installationId === null)
    throw new StartupError(
      `The database of DATABASE_URL (${found.address}) is empty: no server has run on it. Set DATABASE_URL to the database that has the data of ${dataDir}. If they are lost, restore a backup into an empty folder (svc self-host restore). Nothing was changed.`,
    )
  return marked !== null
}

/** The server uses this database from now on: that of DATABASE_URL, or the embedded one. */
export async function keepDatabase({ databaseUrl, dataDir }: Folder, url: string): Promise<void> {
  const { installationId, address } = await withClient(url, examineWith)
  if (installationId === null) return
  if (databaseUrl === null) return markOwnDatabase(dataDir, { installationId })
  markOtherDatabase(dataDir, { installationId, address })
}

/**
 * Before the last step of a move, so that a move that was interrupted after it has changed the mark. `isOfFolder`: the data
 * come from the folder. Otherwise, the folder of the command need not be that of the server.
 */
export async function keepMovedDatabase(
  { databaseUrl, dataDir }: Folder,
  { client, isOfFolder }: { client: pg.Client; isOfFolder: boolean },
): Promise<void> {
  if (!hasUsedDatabase(dataDir)) return
  const { installationId, address } = await examineWith(client)
  if (installationId === null) return
  if (databaseUrl === null) return markOwnDatabase(dataDir, { installationId })
  const marked = markedDatabase(dataDir)
  if (isOfFolder || marked === null || marked.installationId === installationId)
    markOtherDatabase(dataDir, { installationId, address })
}

interface Examined {
  /** Null: no server has used the database. */
  installationId: string | null
  address: string
  move: Move | null
}

/** A move or a restore has not finished there. */
function isUnfinished({ move }: Examined): boolean {
  return move !== null && move.state !== 'arrived' && move.state !== 'left'
}

async function withClient<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url })
  // Without a listener it would end the process.
  client.on('error', handledElsewhere)
  await client.connect()
  try {
    return await work(client)
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
  return {
    installationId: rows[0]?.installation_id ?? null,
    address: addressOf(client),
    move: await readMove(client),
  }
}
