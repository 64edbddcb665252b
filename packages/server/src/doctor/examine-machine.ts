/** `svc server --doctor`: which sandboxes a server on this machine could run, without starting one. One JSON document. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { type DoctorReport, driversAlone } from '@svc/contract/daemon/owner-socket'
import type { Config } from '../config.ts'
import { runningDatabase } from '../db/embedded/running.ts'
import { openDatabase } from '../db/pool.ts'
import { makeLog } from '../log.ts'
import { chooseDriver, makeDrivers } from '../startup/choose-driver.ts'
import { makeRunDir, removeRunDir } from '../startup/run-dir.ts'
import { hasTables } from './store.ts'
import { examineService } from './examine-service.ts'

/** A server that runs has told the rest already, and a database of other settings may not answer. */
export async function examineMachine(config: Config, more: string[]): Promise<DoctorReport> {
  const isDriversAlone = more.includes(driversAlone)
  const log = makeLog('json', (text) => text)
  const isThere = existsSync(config.dataDir)
  const runDir = await makeRunDir(config)
  const chosen = await chooseDriver(config, runDir, log)
  const drivers = Object.values(makeDrivers(config, runDir, log))
  const probed = await chosen?.probe()
  const url = isDriversAlone ? null : (config.databaseUrl ?? (await runningDatabase(join(config.dataDir, 'postgres'))))
  const database = url === null ? null : openDatabase(url, log)
  try {
    // One that does not answer is examined as well, which says so.
    const isMade = database !== null && (await hasTables(database.db).catch(() => true))
    return {
      driver: chosen?.name ?? null,
      ready: probed?.kind === 'ready',
      drivers: await Promise.all(drivers.map(async (one) => ({ name: one.name, findings: await one.examine() }))),
      groups: isDriversAlone ? [] : await examineService({ config, db: isMade ? database.db : null }),
    }
  } finally {
    await database?.close()
    // A folder that was moved away can come back to its path.
    if (!isThere) await removeRunDir(config, runDir)
  }
}
