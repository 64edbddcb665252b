/** What the doctor says of backups, and of a server that is held after a restore. */
import { type Finding, weak } from '@svc/sandbox'
import { readHeld } from '../backup/hold/store.ts'
import { newestBackup } from '../backup/schedule.ts'
import type { Config } from '../config.ts'
import type { DbOrTransaction } from '../db/schema.ts'

/** A backup may take as long again as the time between two. */
const lateFactor = 2
const hourMs = 3_600_000

export async function examineBackups(config: Config, now: Date): Promise<Finding> {
  const name = 'backups'
  const { backups } = config
  if (backups === null)
    return weak(
      name,
      'this server makes none by itself',
      'Set SVC_BACKUP_DIR, or schedule: svc self-host backup <place>',
    )
  const newest = await newestBackup(config, now.getTime()).catch((error: Error) => error)
  if (newest instanceof Error)
    return { name, state: 'missing', says: `${backups.place} cannot be read`, mend: newest.message }
  const encrypt = backups.keyFile === null ? '' : ` --encrypt ${backups.keyFile}`
  const mend = `Read the log for "back up", or run: svc self-host backup ${backups.place}${encrypt}`
  if (newest === null) return { name, state: 'missing', says: `there is none in ${backups.place} yet`, mend }
  const hours = Math.floor((now.getTime() - newest) / hourMs)
  const says = `the last one in ${backups.place} is ${hours < 1 ? 'less than an hour' : `${hours} h`} old`
  const isLate = now.getTime() - newest > backups.everyMs * lateFactor
  return isLate ? { name, state: 'missing', says, mend } : { name, state: 'good', says, mend: null }
}

/** Null: nothing is held. */
export async function examineHold(db: DbOrTransaction): Promise<Finding | null> {
  const held = await readHeld(db)
  if (held === null) return null
  const says = `restored from a backup of ${held.backup_created_at}: it answers reads only, and nothing acts`
  return weak('held', says, 'Once its original is off: svc self-host resume')
}
