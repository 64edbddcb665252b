/** `svc server --resume`: lets a restored installation act again, whether a server runs on it or not. */
import type { ResumeReport } from '@svc/contract/daemon/operator-reports'
import { firstOwner } from '../accounts/store.ts'
import { auditEvent, recordOperatorAudit } from '../audit/record.ts'
import type { Config } from '../config.ts'
import { migrate } from '../db/migrate.ts'
import { openDatabase } from '../db/pool.ts'
import { makeLog } from '../log.ts'
import { waitFromNow } from '../retention/deletion-clock.ts'
import { deleteHeld, readHeld } from './hold/store.ts'
import { reachData } from './reach-data.ts'

export async function resume(config: Config): Promise<ResumeReport> {
  const log = makeLog('json', (text) => text)
  log.level = 'warn'
  const reached = await reachData(config, log)
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
        await waitFromNow(trx)
        return { resumed: true, held }
      })
    } finally {
      await database.close()
    }
  } finally {
    await reached.end()
  }
}
