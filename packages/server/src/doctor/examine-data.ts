/** What the doctor says of backups, and of a server that is held after a restore. */
import { count } from '@svc/contract/count'
import { quote } from '@svc/contract/shell-words'
import { type Finding, weak } from '@svc/sandbox'
import type { Newest } from '../backup/complete.ts'
import { readHeld } from '../backup/hold/store.ts'
import { type BackupFailure, knownBackup, readFailure } from '../backup/known-places.ts'
import { timeOf } from '../backup/retention.ts'
import { openPlace } from '../backup/place/open.ts'
import { newestBackup, otherWriter } from '../backup/schedule.ts'
import type { Config } from '../config.ts'
import type { DbOrTransaction } from '../db/schema.ts'
import { deletionTime } from '../retention/deletion-clock-store.ts'
import { besideDataMend, besideDataText, isBesideData } from './examine-backup-place.ts'
import { listOf } from './lost-repositories.ts'

/** A backup may take as long again as the time between two. */
const lateFactor = 2
const minuteMs = 60_000

/** `db` is null where no database answers. */
export async function examineBackups(config: Config, now: Date, db: DbOrTransaction | null): Promise<Finding> {
  const [found, isBeside] = await Promise.all([examineSchedule(config, now, db), isBesideData(config)])
  if (!isBeside) return found
  const says = `${found.says}. ${besideDataText(config)}`
  return found.state === 'good' ? weak(found.name, says, besideDataMend) : { ...found, says }
}

async function examineSchedule(config: Config, now: Date, db: DbOrTransaction | null): Promise<Finding> {
  const name = 'backups'
  const { backups } = config
  if (backups === null)
    return weak(
      name,
      'this server makes none by itself',
      'Set SVC_BACKUP_DIR, or schedule: svc self-host backup <place>',
    )
  if (db !== null && (await readHeld(db)) !== null)
    return weak(
      name,
      'this server makes none while it is held',
      `After svc self-host resume it backs up to ${backups.place}. If that place has the backups of its original, claim it then: svc self-host backup ${quote(backups.place)} --claim`,
    )
  const newest = await newestBackup(config, now.getTime()).catch((error: Error) => error)
  if (newest instanceof Error)
    return { name, state: 'missing', says: `${backups.place} cannot be read`, mend: newest.message }
  const encrypt = backups.keyFile === null ? '' : ` --encrypt ${quote(backups.keyFile)}`
  const mend = `Read the log for "back up", or run: svc self-host backup ${quote(backups.place)}${encrypt}`
  const failed = await failureSince(config, backups.place, newest)
  if (newest === null) return withoutBackup(config, backups.place, { failed, mend })
  const age = ageOf(newest.backup_id, now)
  const isLate = newest.complete === null || now.getTime() - timeOf(newest.complete) > backups.everyMs * lateFactor
  const others = newest.elsewhere.length === 0 ? '' : `. ${elsewhereText(newest.elsewhere)}`
  if (newest.lacking.length > 0) {
    const complete =
      newest.complete === null
        ? 'there is no complete one'
        : `the last complete one is ${ageOf(newest.complete, now)} old`
    const says = `the last one in ${backups.place}, ${age} old, is incomplete, and ${complete}. It lacks ${listOf(newest.lacking.map(asClause))}${others}`
    return { name, state: isLate ? 'missing' : 'weak', says, mend: `Run svc self-host check. ${mend}` }
  }
  const says = `the last one in ${backups.place} is ${age} old${others}`
  if (failed !== null) return { name, state: 'missing', says: `the last try failed, and ${says}`, mend: failed.reason }
  return isLate ? { name, state: 'missing', says, mend } : { name, state: 'good', says, mend: null }
}

async function withoutBackup(
  config: Config,
  address: string,
  { failed, mend }: { failed: BackupFailure | null; mend: string },
): Promise<Finding> {
  const finding = { name: 'backups', state: 'missing' } as const
  const writer = await otherWriter(await openPlace(address, config, { isHasty: true }), config)
  if (writer !== null) {
    const says = `${address} has the backups of another server, of the data folder ${writer.data_dir} on ${writer.host}`
    const remedy = 'Set SVC_BACKUP_DIR to another place. If that server replaced this one, stop this one.'
    return { ...finding, says, mend: failed?.reason ?? remedy }
  }
  const known = await knownBackup(config, address)
  const gone = `those in ${address} are gone; the last one known is ${known}`
  const says = known === null ? `there is none of this server in ${address} yet` : gone
  const remedy = 'Mount the disk of that folder again, or bring back its files, and the next backup goes on.'
  return { ...finding, says, mend: failed?.reason ?? (known === null ? mend : remedy) }
}

/** One that was made since, by whatever program, mends it. */
async function failureSince(config: Config, place: string, newest: Newest | null): Promise<BackupFailure | null> {
  const failed = await readFailure(config, place)
  if (failed === null || newest === null) return failed
  return timeOf(newest.backup_id) > Date.parse(failed.failed_at) ? null : failed
}

/** Another sentence follows. */
const asClause = (reason: string) => reason.replace(/\.$/, '')

function ageOf(backupId: string, now: Date): string {
  const minutes = Math.floor((now.getTime() - timeOf(backupId)) / minuteMs)
  if (minutes < 1) return 'less than a minute'
  return minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h`
}

function elsewhereText(elsewhere: string[]): string {
  return `It does not include ${count(elsewhere.length, 'project')} at home on other servers, which need backups of their own: ${listOf(elsewhere)}`
}

/** Null: nothing is held. */
export async function examineHold(db: DbOrTransaction): Promise<Finding | null> {
  const held = await readHeld(db)
  if (held === null) return null
  const says = `restored from a backup of ${held.backup_created_at}: it answers reads only, and nothing acts`
  return weak('held', says, 'Once its original is off: svc self-host resume')
}

/** Null: what is old enough is deleted. */
export async function examineDeletions(db: DbOrTransaction, now: Date): Promise<Finding | null> {
  const time = await deletionTime(db)
  if (time?.waits_until == null || Date.parse(time.waits_until) <= now.getTime()) return null
  const waits = `nothing is deleted for its age until ${time.waits_until}`
  if (time.jumped_from === null)
    return weak(
      'deletions',
      `${waits}, a day after svc self-host resume`,
      'Restore deleted projects that you want back.',
    )
  return weak(
    'deletions',
    `the clock is more than a week from ${time.jumped_from}, when a server last ran: ${waits}`,
    'If the clock of this machine is wrong, set it now. If it is right, there is nothing to do.',
  )
}
