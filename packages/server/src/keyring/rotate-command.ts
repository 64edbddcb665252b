/** `svc server --rotate-key` changes the master key of this machine's server, running or not, and prints one JSON document. */
import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import type { RotationReport } from '@svc/contract/daemon/operator-reports'
import { readHeld } from '../backup/hold/store.ts'
import { findData } from '../backup/reach-data.ts'
import type { Config } from '../config.ts'
import type { ReachedDatabase } from '../db/embedded/reach.ts'
import { LocalLocks } from '../db/lock.ts'
import { migrate } from '../db/migrate.ts'
import type { Db } from '../db/schema.ts'
import { openDatabase, pingDatabase } from '../db/pool.ts'
import { makeLog } from '../log.ts'
import { refuseOlderCopy } from '../startup/folder-records.ts'
import { keyPlace } from './key-place.ts'
import { MasterKeyError } from './master-key.ts'
import { otherFolders } from './other-folders.ts'
import { rotateMasterKey } from './rotate.ts'

export async function rotateKeyOf(config: Config): Promise<RotationReport> {
  const log = makeLog('json', (text) => text)
  const { url, end } = await reach(config, log)
  try {
    const database = openDatabase(url, log, { applicationName: `svc ${randomUUID()}` })
    try {
      // In this order, as a server does it: a move between databases sees this connection, or this sees the move.
      await pingDatabase(database.db)
      await migrate(url)
      await refuseHeld(database.db, config)
      // Before the change, after which nothing may fail.
      const others = otherFolders(config)
      const rotation = await rotateMasterKey({
        ...{ config: withKeyOfServer(config), ...database },
        localLocks: new LocalLocks(),
      })
      return { ...rotation, other_data_dirs: others }
    } finally {
      await database.close()
    }
  } finally {
    await end()
  }
}

/** The settings of a held copy usually name the key file of its original, which could not start with another key. */
async function refuseHeld(db: Db, { masterKeyFile }: Config): Promise<void> {
  if ((await readHeld(db)) === null) return
  throw new MasterKeyError(
    `This server is held after a restore, and ${masterKeyFile} may also be the key file of its original. Nothing was changed. Once the original is off, run svc self-host resume, then this again. If the original is to start again, give this server a key file of its own first: copy the file, and set SVC_MASTER_KEY_FILE to the copy.`,
  )
}

/** The server of another user may be stopped, and its key is then not known. */
function withKeyOfServer(config: Config): Config {
  const { file, whyUnsure } = keyPlace(config)
  if (whyUnsure !== null && !existsSync(file)) throw new MasterKeyError(`${whyUnsure}. Nothing was changed.`)
  return { ...config, masterKeyFile: file }
}

async function reach(config: Config, log: ReturnType<typeof makeLog>): Promise<ReachedDatabase> {
  // The newest folder usually has the same key file, and its server could not start with another key.
  refuseOlderCopy(config)
  const reached = await findData(config, log)
  if (reached !== null) return reached
  throw new MasterKeyError(
    `There is no data in ${config.dataDir}, so there is no master key to change. Set SVC_DATA_DIR to the data folder of the server, or DATABASE_URL to its PostgreSQL.`,
  )
}
