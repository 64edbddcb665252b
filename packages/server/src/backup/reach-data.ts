/** The database of the data that a command of `svc self-host` works on, whether their server runs or not. */
import { existsSync } from 'node:fs'
import { count } from '@svc/contract/count'
import type { Config } from '../config.ts'
import { reachDatabase, type ReachedDatabase } from '../db/embedded/reach.ts'
import { connect, type End } from '../db/move/connect.ts'
import { onConnection } from '../db/pool.ts'
import { listServers } from '../fleet/recorded-servers.ts'
import { keptServerName } from '../fleet/server-name.ts'
import { hasMark, isOlderFolder, lacksRecordedAlone } from '../fleet/start-marks.ts'
import { recordedServers, type RecordedServer } from '../fleet/store.ts'
import type { makeLog } from '../log.ts'
import { lockStoppedData, readFolderId } from '../startup/folder-lock.ts'
import { refuseOlderCopy } from '../startup/folder-records.ts'
import { refuseCommandWithoutDatabase, refuseReachedDatabase, requireDatabaseOf } from '../startup/other-database.ts'
import { StartupError } from '../startup/startup-error.ts'
import { refuseUnfinishedRestore } from './restore-mark.ts'

/**
 * For commands that would agree to a database whose repositories they do not find: none of its servers has this folder,
 * or its server has served from a newer one.
 * The embedded database is part of its folder, of which a copy may have served since.
 */
export async function requireFolderOfServer(config: Config): Promise<void> {
  const { databaseUrl, dataDir } = config
  if (databaseUrl === null) return refuseOlderCopy(config)
  refuseUnfinishedRestore(config)
  const end = await connect(databaseUrl)
  try {
    const marked = await requireDatabaseOf(config, end.client)
    const servers = await recordedServers(onConnection(end.client))
    await requireNewestFolder(config, end)
    // A restored folder has no server yet.
    if (marked || servers.length === 0 || isOfOne(dataDir, servers)) return
    const why = existsSync(dataDir) ? 'is not the data folder of a server of this database' : 'does not exist'
    throw new StartupError(
      `${dataDir} ${why}. The database ${end.address} has ${count(servers.length, 'server')}: ${listServers(servers)}. Set SVC_DATA_DIR to the data folder of the one on this machine, which has its name in the file server-name. Nothing was changed.`,
    )
  } finally {
    await end.close()
  }
}

/** A home on a disk of an earlier time that starts, and refuses changes, may be asked about. */
export async function requireNewestFolder(config: Config, { client }: Pick<End, 'client'>): Promise<void> {
  const db = onConnection(client)
  const own = (await recordedServers(db)).find(({ server_name }) => server_name === keptServerName(config.dataDir))
  if (own === undefined || own.start_mark === null || hasMark(config, own.start_mark)) return
  if (!(await lacksRecordedAlone(db, config, own))) throw isOlderFolder(config, own)
}

function isOfOne(dataDir: string, servers: RecordedServer[]): boolean {
  const [folderId, name] = [readFolderId(dataDir), keptServerName(dataDir)]
  return servers.some(({ data_folder, server_name }) => data_folder === folderId || server_name === name)
}

export async function reachData(config: Config, log: ReturnType<typeof makeLog>): Promise<ReachedDatabase> {
  const reached = await findData(config, log)
  if (reached !== null) return reached
  throw new StartupError(
    `There is no database in ${config.dataDir}. Set SVC_DATA_DIR to the data folder of the server, or DATABASE_URL to its PostgreSQL.`,
  )
}

/** Null: there are no data in the folder, and no database elsewhere is known to have its data. */
export async function findData(config: Config, log: ReturnType<typeof makeLog>): Promise<ReachedDatabase | null> {
  refuseUnfinishedRestore(config)
  const reached = await reachDatabase(config, { log, lock: () => lockStoppedData(config.dataDir) })
  if (reached === null) refuseCommandWithoutDatabase(config)
  else await refuseReachedDatabase(config, reached)
  return reached
}
