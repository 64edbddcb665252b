/** `svc server --rotate-key` changes the master key of this machine's server, running or not, and prints one JSON document. */
import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import type { Config } from '../config.ts'
import { startEmbeddedPostgres } from '../db/embedded/postgres.ts'
import { dataMajor } from '../db/embedded/data.ts'
import { runningDatabase } from '../db/embedded/running.ts'
import { LocalLocks } from '../db/lock.ts'
import { migrate } from '../db/migrate.ts'
import { openDatabase, pingDatabase } from '../db/pool.ts'
import { makeLog } from '../log.ts'
import { MasterKeyError } from './master-key.ts'
import { rotateMasterKey, type Rotation } from './rotate.ts'

export async function rotateKeyOf(config: Config): Promise<Rotation> {
  const log = makeLog('json', (text) => text)
  const { url, end } = await reachDatabase(config, log)
  try {
    const database = openDatabase(url, log, { applicationName: `svc ${randomUUID()}` })
    try {
      // In this order, as a server does it: a move between databases sees this connection, or this sees the move.
      await pingDatabase(database.db)
      await migrate(url)
      return await rotateMasterKey({ config, ...database, localLocks: new LocalLocks() })
    } finally {
      await database.close()
    }
  } finally {
    await end()
  }
}

/** The database of the running server, or the same database started for this command. */
async function reachDatabase(
  { databaseUrl, dataDir }: Config,
  log: ReturnType<typeof makeLog>,
): Promise<{ url: string; end(): Promise<void> }> {
  if (databaseUrl !== null) return { url: databaseUrl, end: async () => {} }
  const folder = join(dataDir, 'postgres')
  if ((await dataMajor(folder)) === null)
    throw new MasterKeyError(
      `There is no data in ${dataDir}, so there is no master key to change. Set SVC_DATA_DIR to the data folder of the server.`,
    )
  const running = await runningDatabase(folder)
  if (running !== null) return { url: running, end: async () => {} }
  const embedded = await startEmbeddedPostgres({ dataDir: folder, log })
  return { url: embedded.connectionString, end: () => embedded.stop() }
}
