/** `svc server --doctor`: which sandboxes a server on this machine could run, without starting one. One JSON document. */
import type { Finding } from '@svc/sandbox'
import type { Logger } from 'pino'
import type { Config } from '../config.ts'
import { openDatabase } from '../db/pool.ts'
import { uncopiedProjects } from '../projects/replicas/store.ts'
import { makeLog } from '../log.ts'
import { makeRunDir } from './run-dir.ts'
import { chooseDriver, makeDrivers } from './choose-driver.ts'

export interface DoctorReport {
  /** The driver that sessions would use; null when there is none. */
  driver: string | null
  ready: boolean
  drivers: { name: string; findings: Finding[] }[]
  /** Null on a server that runs alone or keeps no copies. */
  copies: Finding | null
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
    copies: config.replica === 'none' ? null : await examineCopies(config, log),
  }
}

/** As old as a heartbeat of a server that runs may be. */
const deadAfterSeconds = 20
const listedMax = 5

async function examineCopies({ databaseUrl }: Config, log: Logger): Promise<Finding> {
  const name = 'copies of repositories'
  const database = openDatabase(databaseUrl ?? '', log)
  try {
    const { count, projects } = await uncopiedProjects(database.db, { deadAfterSeconds })
    if (count === 0)
      return { name, state: 'good', says: 'every project has a current copy on another server', mend: null }
    const listed = projects
      .slice(0, listedMax)
      .map(({ slug, home }) => `${slug} (at ${home})`)
      .join(', ')
    const more = count > listedMax ? `, and ${count - listedMax} more` : ''
    return {
      name,
      state: 'weak',
      says: `${count} ${count === 1 ? 'project has' : 'projects have'} no current copy: ${listed}${more}`,
      mend: 'Start another server of this database. `svc self-host copies` lists them all.',
    }
  } catch (error) {
    return { name, state: 'weak', says: 'the database did not answer', mend: (error as Error).message }
  } finally {
    await database.close()
  }
}
