/** `svc server --resume`: lets a restored installation act again, whether a server runs on it or not. */
import { firstOwner } from '../accounts/store.ts'
import { auditEvent, recordOperatorAudit } from '../audit/record.ts'
import type { Config } from '../config.ts'
import { reachDatabase } from '../db/embedded/reach.ts'
import { migrate } from '../db/migrate.ts'
import { openDatabase } from '../db/pool.ts'
import { makeLog } from '../log.ts'
import { lockStoppedData } from '../startup/folder-lock.ts'
import { StartupError } from '../startup/startup-error.ts'
import { deleteHeld, type Held, readHeld } from './hold/store.ts'
import { refuseUnfinishedRestore } from './restore-mark.ts'

export interface ResumeReport {
  /** False: nothing was held. */
  resumed: boolean
  held: Held | null
}

export async function resume(config: Config): Promise<ResumeReport> {
  const log = makeLog('json', (text) => text)
  log.level = 'warn'
  refuseUnfinishedRestore(config)
  const reached = await reachDatabase(config, { log, lock: () => lockStoppedData(config.dataDir) })
  if (reached === null)
    throw new StartupError(
      `There is no database in ${config.dataDir}. Set SVC_DATA_DIR to the data folder of the server, or DATABASE_URL to its PostgreSQL.`,
    )
  try {
    await migrate(reached.url)
    const database = openDatabase(reached.url, log)
    try {
      return await database.db.transaction().execute(async (trx) => {
        const held = await readHeld(trx)
        if (held === null || !(await deleteHeld(trx))) return { resumed: false, held: null }
        await recordOperatorAudit(trx, {
          ...auditEvent(
            { account_id: (await firstOwner(trx))?.account_id ?? null },
            'server.resume',
            'server',
            held.backup_id,
          ),
          before: held,
        })
        return { resumed: true, held }
      })
    } finally {
      await database.close()
    }
  } finally {
    await reached.end()
  }
}
