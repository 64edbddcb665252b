/**
 * `svc server --examine-upgrade`: whether this program could run on the data of a server that runs, with that server's
 * settings. It changes no data. One JSON document.
 */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { UpgradeReport } from '@svc/contract/daemon/owner-socket'
import type { Logger } from 'pino'
import type { Config } from '../config.ts'
import { dataMajor, requireMajor } from '../db/embedded/data.ts'
import { findPostgresPrograms } from '../db/embedded/programs.ts'
import { runningDatabase } from '../db/embedded/running.ts'
import { countPending, knownVersion } from '../db/migrate.ts'
import { openDatabase } from '../db/pool.ts'
import { examineKey } from '../doctor/examine-key.ts'
import { readServerName } from '../fleet/server-name.ts'
import { runningVersions } from '../fleet/store.ts'
import { makeLog } from '../log.ts'
import { staleSeconds } from '../db/live-instance.ts'
import { DiskWatch } from '../storage/disk-watch.ts'
import { version } from '../version.ts'
import { chooseDriver, findRuntime } from './choose-driver.ts'
import { refuseCommandWithoutDatabase } from './other-database.ts'
import { makeRunDir } from './run-dir.ts'
import { StartupError, startupLine } from './startup-error.ts'

type Problem = UpgradeReport['problems'][number]

export async function examineUpgrade(config: Config): Promise<UpgradeReport> {
  const log = makeLog('json', (text) => text)
  log.level = 'warn'
  const problems: Problem[] = []
  const examine = async <T>(name: Problem['name'], work: () => Promise<T>): Promise<T | null> => {
    try {
      return await work()
    } catch (error) {
      const says = startupLine(error, config)
      if (says === null) throw error
      problems.push({ name, says, mend: null })
      return null
    }
  }
  const found = await examine('database', () => examineDatabase(config))
  const inside = found === null ? null : await examineInside(config, found.url, log)
  if (inside?.key?.state === 'missing') {
    const { says, mend } = inside.key
    problems.push({ name: 'master key', says: `The master key: ${says}.`, mend })
  }
  await examine('disk', () => examineDisk(config, log))
  const driver = await examine('sandboxes', () => examineDriver(config, log, problems))
  const { migrations = null } = found ?? {}
  return { version, driver, migrations, tables_version: knownVersion, other_servers: inside?.others ?? [], problems }
}

/** Resolves with its URL and the number of migrations that a start would apply. */
async function examineDatabase(config: Config): Promise<{ url: string; migrations: number }> {
  const { databaseUrl, dataDir } = config
  if (databaseUrl !== null) return { url: databaseUrl, migrations: await countPending(databaseUrl) }
  const folder = join(dataDir, 'postgres')
  const major = await dataMajor(folder)
  if (major === null) {
    refuseCommandWithoutDatabase(config)
    throw new StartupError(`There is no database in ${dataDir}.`)
  }
  // The programs of the running server may be another version than those that come with this program.
  requireMajor(folder, major, await findPostgresPrograms({ copyTo: `${folder}-programs`, wantMajor: major }))
  const url = await runningDatabase(folder)
  if (url === null) throw new StartupError('The database of the running server does not answer.')
  return { url, migrations: await countPending(url) }
}

/** `others` is empty for a server that runs alone. */
async function examineInside(config: Config, url: string, log: Logger) {
  const { db, close } = openDatabase(url, log)
  try {
    const of = { serverName: readServerName(config, ''), deadAfterSeconds: staleSeconds }
    const isAlone = config.databaseUrl === null || config.peerUrl === null
    return { key: await examineKey(config, db), others: isAlone ? [] : await runningVersions(db, of) }
  } finally {
    await close()
  }
}

async function examineDisk(config: Config, log: Logger): Promise<void> {
  const disk = new DiskWatch({ config, log })
  await disk.look()
  if (disk.isLow) throw new StartupError(`The disk that holds ${config.dataDir} is almost full. Free some space.`)
}

async function examineDriver(config: Config, log: Logger, problems: Problem[]): Promise<string | null> {
  const driver = await chooseDriver(config, await makeRunDir(config), log)
  if (driver === null) return null
  const runtime = findRuntime(config)
  if (!existsSync(runtime)) throw new StartupError(`The agent runtime is missing: ${runtime}`)
  const probed = await driver.probe()
  if (probed.kind === 'missing')
    problems.push({ name: 'sandboxes', says: `Sandboxes could not start: ${probed.problem}`, mend: probed.install })
  return driver.name
}
