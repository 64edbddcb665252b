/** The database of the data that a command of `svc self-host` works on, whether their server runs or not. */
import type { Config } from '../config.ts'
import { reachDatabase, type ReachedDatabase } from '../db/embedded/reach.ts'
import type { makeLog } from '../log.ts'
import { lockStoppedData } from '../startup/folder-lock.ts'
import { refuseCommandWithoutDatabaseUrl } from '../startup/other-database.ts'
import { StartupError } from '../startup/startup-error.ts'
import { refuseUnfinishedRestore } from './restore-mark.ts'

export async function reachData(config: Config, log: ReturnType<typeof makeLog>): Promise<ReachedDatabase> {
  refuseUnfinishedRestore(config)
  const reached = await reachDatabase(config, { log, lock: () => lockStoppedData(config.dataDir) })
  if (reached !== null) return reached
  refuseCommandWithoutDatabaseUrl(config)
  throw new StartupError(
    `There is no database in ${config.dataDir}. Set SVC_DATA_DIR to the data folder of the server, or DATABASE_URL to its PostgreSQL.`,
  )
}
