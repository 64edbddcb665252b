/** `svc server --doctor`: which sandboxes a server on this machine could run, without starting one. One JSON document. */
import type { Finding } from '@svc/sandbox'
import type { Config } from '../config.ts'
import { makeLog } from '../log.ts'
import { makeRunDir } from './run-dir.ts'
import { chooseDriver, makeDrivers } from './choose-driver.ts'

export interface DoctorReport {
  /** The driver that sessions would use; null when there is none. */
  driver: string | null
  ready: boolean
  drivers: { name: string; findings: Finding[] }[]
}

export async function examineMachine(config: Config): Promise<DoctorReport> {
  const log = makeLog('json', (text) => text)
  const runDir = await makeRunDir(config)
  const chosen = await chooseDriver(config, runDir, log)
  const drivers = Object.values(makeDrivers(config, runDir, log))
  const probed = await chosen?.probe()
  return {
    driver: chosen?.name ?? null,
    ready: probed?.kind === 'ready',
    drivers: await Promise.all(drivers.map(async (one) => ({ name: one.name, findings: await one.examine() }))),
  }
}
