/** What the doctor says of backups, and of a server that is held after a restore. */
import { join } from 'node:path'
import type { Finding } from '@svc/sandbox'
import type { Logger } from 'pino'
import { readHeld } from '../backup/hold/store.ts'
import { newestBackup } from '../backup/schedule.ts'
import type { Config } from '../config.ts'
import { runningDatabase } from '../db/embedded/running.ts'
import { openDatabase } from '../db/pool.ts'

/** A backup may take as long again as the time between two. */
const lateFactor = 2
const hourMs = 3_600_000

/** Null: the server makes none by itself. */
export async function examineBackups({ backups }: Config, now: Date): Promise<Finding | null> {
  if (backups === null) return null
  const name = 'backups'
  const newest = await newestBackup(backups.dir).catch((error: Error) => error)
  if (newest instanceof Error)
    return { name, state: 'missing', says: `${backups.dir} cannot be read`, mend: newest.message }
  const mend = `Read the log for "back up", or run: svc self-host backup ${backups.dir}`
  if (newest === null) return { name, state: 'missing', says: `there is none in ${backups.dir} yet`, mend }
  const hours = Math.floor((now.getTime() - newest) / hourMs)
  const says = `the last one in ${backups.dir} is ${hours < 1 ? 'less than an hour' : `${hours} h`} old`
  const isLate = now.getTime() - newest > backups.everyMs * lateFactor
  return isLate ? { name, state: 'missing', says, mend } : { name, state: 'good', says, mend: null }
}

/** Null: nothing is held, or no database answers. */
export async function examineHold({ databaseUrl, dataDir }: Config, log: Logger): Promise<Finding | null> {
  const url = databaseUrl ?? (await runningDatabase(join(dataDir, 'postgres')))
  if (url === null) return null
  const database = openDatabase(url, log)
  try {
    const held = await readHeld(database.db)
    if (held === null) return null
    const says = `restored from a backup of ${held.backup_created_at}: it answers reads only, and nothing acts`
    return { name: 'held', state: 'weak', says, mend: 'Once its original is off: svc self-host resume' }
  } catch (error) {
    log.debug({ err: error }, 'the database does not tell whether the server is held')
    return null
  } finally {
    await database.close()
  }
}
