/** The disk and the key of scheduled backups, which their owner learns of before a loss shows it. */
import { existsSync } from 'node:fs'
import { stat } from 'node:fs/promises'
import { type Finding, good, missing, weak } from '@svc/sandbox'
import { readKeyFile } from '../backup/key-file.ts'
import { lackingKey, recipientOfSchedule } from '../backup/lost-key.ts'
import { sharesDisk } from '../backup/place/leave-room.ts'
import type { Config } from '../config.ts'
import { withDeadline } from '../deadline.ts'

type BackupConfig = Pick<Config, 'dataDir' | 'backups' | 'objectStore'>

const keyName = 'backup key'
const readByOthers = 0o007
const answerMs = 2_000

/** One that does not answer, as on a network disk that hangs, is another disk. */
export async function isBesideData({ dataDir, backups }: BackupConfig): Promise<boolean> {
  return backups !== null && withDeadline(sharesDisk(dataDir, backups.place), answerMs, () => false)
}

export const besideDataText = ({ backups }: BackupConfig) =>
  `${backups?.place} is on the disk of the data, whose loss would take the backups, too`
export const besideDataMend = 'Set SVC_BACKUP_DIR to a folder on another disk, or to a bucket.'

/** A start says these at once, although the server works without them. */
export async function backupWarnings(config: BackupConfig): Promise<Finding[]> {
  const isBeside = await isBesideData(config)
  const key = await withDeadline(missingBackupKey(config), answerMs, () => null)
  return [
    ...(isBeside ? [weak('backups', besideDataText(config), besideDataMend)] : []),
    ...(key === null ? [] : [key]),
  ]
}

/** Null: scheduled backups are not encrypted. */
export async function examineBackupKey(config: BackupConfig): Promise<Finding | null> {
  const { place, keyFile } = config.backups ?? { place: '', keyFile: null }
  if (keyFile === null) return null
  if (!existsSync(keyFile)) return missingBackupKey(config)
  const key = await readKeyFile(keyFile).catch((error: Error) => error)
  if (key instanceof Error)
    return missing(
      keyName,
      key.message,
      `Restore it from its copy, readable by the server's user (chmod 600 ${keyFile}).`,
    )
  const recipient = await recipientOfSchedule(config)
  if (recipient !== null && recipient !== key.recipient)
    return missing(
      keyName,
      `${keyFile} (${key.recipient}) is not the key of the backups in ${place} (${recipient}), so the next one fails`,
      'Set SVC_BACKUP_KEY_FILE to their key, or SVC_BACKUP_DIR to another place.',
    )
  if (key.identity === null) return good(keyName, `${keyFile} writes backups and cannot open them`)
  if (((await stat(keyFile)).mode & readByOthers) !== 0)
    return weak(keyName, `other users of this machine can read ${keyFile}`, `Run: chmod 600 ${keyFile}`)
  return good(keyName, `${keyFile} opens the backups; without a copy elsewhere, they are lost with it`)
}

async function missingBackupKey(config: BackupConfig): Promise<Finding | null> {
  const { keyFile } = config.backups ?? { keyFile: null }
  if (keyFile === null || existsSync(keyFile)) return null
  const lacking = await lackingKey(config, keyFile)
  if (lacking?.file === keyFile)
    return missing(
      keyName,
      `there is none at ${keyFile}, so nothing here opens the backups in ${lacking.place}, and the next one fails`,
      'Restore it from its copy. If there is none, these backups are lost: set SVC_BACKUP_KEY_FILE to another file, and SVC_BACKUP_DIR to another place.',
    )
  if (lacking !== null) {
    const { place, recipient, file } = lacking
    return missing(
      keyName,
      `there is none at ${keyFile}, and the backups in ${place} are encrypted for ${recipient}, so the next one fails`,
      file === null
        ? 'If it had their key, restore it from its copy. Otherwise set SVC_BACKUP_KEY_FILE to the file of their key, or SVC_BACKUP_DIR to another place.'
        : `Set SVC_BACKUP_KEY_FILE to the file of their key, ${file}, or SVC_BACKUP_DIR to another place.`,
    )
  }
  return weak(
    keyName,
    `there is none at ${keyFile}, so the first backup makes it`,
    'This key opens the backups: once it is made, keep a copy of it elsewhere.',
  )
}
