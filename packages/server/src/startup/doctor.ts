/** `svc server --doctor`: which sandboxes a server on this machine could run, without starting one. One JSON document. */
import type { Finding } from '@svc/sandbox'
import type { Logger } from 'pino'
import type { Config } from '../config.ts'
import { openDatabase } from '../db/pool.ts'
import { readServerName } from '../fleet/server-name.ts'
import { uncopiedProjects } from '../projects/replicas/store.ts'
import { findLostRepositories, listOf } from './lost-repositories.ts'
import { makeLog } from '../log.ts'
import { examineBackups, examineHold } from './examine-data.ts'
import { makeRunDir } from './run-dir.ts'
import { chooseDriver, makeDrivers } from './choose-driver.ts'

export interface DoctorReport {
  /** The driver that sessions would use; null when there is none. */
  driver: string | null
  ready: boolean
  drivers: { name: string; findings: Finding[] }[]
  /** Null on a server that runs alone or keeps no copies. */
  copies: Finding | null
  /** Of the projects whose home is this data folder's server. Null on a server that runs alone. */
  repositories: Finding | null
  /** Null: this server makes none by itself. */
  backups: Finding | null
  /** Null: nothing is held after a restore, or no database answers. */
  held: Finding | null
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
    repositories: config.peerUrl === null ? null : await examineRepositories(config, log),
    backups: await examineBackups(config, new Date()),
    held: await examineHold(config, log),
  }
}

/** As old as a heartbeat of a server that runs may be. */
const deadAfterSeconds = 20

async function examineCopies({ databaseUrl }: Config, log: Logger): Promise<Finding> {
  const name = 'copies of repositories'
  const database = openDatabase(databaseUrl ?? '', log)
  try {
    const { count, projects } = await uncopiedProjects(database.db, { deadAfterSeconds })
    if (count === 0)
      return { name, state: 'good', says: 'every project has a current copy on another server', mend: null }
    const listed = listOf(projects.map(({ slug, home }) => `${slug} (at ${home})`))
    return {
      name,
      state: 'weak',
      says: `${count} ${count === 1 ? 'project has' : 'projects have'} no current copy: ${listed}`,
      mend: 'Start another server of this database. `svc self-host copies` lists them all.',
    }
  } catch (error) {
    return { name, state: 'weak', says: 'the database did not answer', mend: (error as Error).message }
  } finally {
    await database.close()
  }
}

/** Whether this disk has the repositories of its projects: one that was replaced has none, and every request fails. */
export async function examineRepositories(config: Config, log: Logger): Promise<Finding> {
  const name = 'repositories'
  const database = openDatabase(config.databaseUrl ?? '', log)
  try {
    // The folder has its name since its first start.
    const serverName = readServerName(config, '')
    const found = await findLostRepositories(database.db, { config, serverName, now: new Date() })
    if (found !== null) return { name, state: 'missing', ...found }
    return { name, state: 'good', says: 'this disk has the repository of every project at home here', mend: null }
  } catch (error) {
    return { name, state: 'weak', says: 'could not be compared with the database', mend: (error as Error).message }
  } finally {
    await database.close()
  }
}
