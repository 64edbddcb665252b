/** A missing key file that backups need. A new key in its place would not open them, and their own key could overwrite it. */
import { existsSync } from 'node:fs'
import type { Config } from '../config.ts'
import { StartupError } from '../startup/startup-error.ts'
import { readHeader } from './catalog.ts'
import { fileOfKey, keyOfFile, type KnownKey } from './known-places.ts'
import { openPlace } from './place/open.ts'

type BackupConfig = Pick<Config, 'dataDir' | 'backups' | 'objectStore'>

interface LackingKey extends KnownKey {
  /** The file that has or had their key: the missing one, or another that is there. Null: unknown. */
  file: string | null
}

/** A new key in the file of another one is no loss: only the place of the other refuses it. */
export async function refuseLostKey(config: BackupConfig, keyFile: string): Promise<void> {
  const lacking = await lackingKey(config, keyFile)
  if (lacking === null || (lacking.file !== null && lacking.file !== keyFile)) return
  const { place, recipient } = lacking
  const [says, goOn] =
    lacking.file === null
      ? [
          `There is no key file ${keyFile}, and the backups in ${place} are encrypted for ${recipient}, which a new key cannot open.`,
          'If the file had their key, restore it from its copy. If another file has it, set SVC_BACKUP_KEY_FILE to that one. Otherwise',
        ]
      : [
          `The key file ${keyFile} is gone, and the backups in ${place} are encrypted for its key (${recipient}), which a new one cannot open.`,
          'Restore the file from its copy. If there is no copy, those backups are lost:',
        ]
  throw new StartupError(
    `${says} ${goOn} begin with a new key in another file, and in a place without backups (--encrypt <new key file>; for scheduled backups SVC_BACKUP_KEY_FILE and SVC_BACKUP_DIR). Nothing was changed.`,
  )
}

/** Null: the file is there, or no known backup needs it. */
export async function lackingKey(config: BackupConfig, keyFile: string): Promise<LackingKey | null> {
  if (existsSync(keyFile)) return null
  const known = await keyOfFile(config, keyFile)
  if (known !== null) return { ...known, file: keyFile }
  if (config.backups?.keyFile !== keyFile) return null
  const recipient = await recipientOfSchedule(config)
  if (recipient === null) return null
  // A program of an earlier version noted no key.
  return { recipient, place: config.backups.place, file: await fileOfKey(config, recipient) }
}

/** Null: there is no encrypted backup, or the place cannot be read. */
export async function recipientOfSchedule(config: BackupConfig): Promise<string | null> {
  if (config.backups === null) return null
  const place = openPlace(config.backups.place, config, { isHasty: true })
  return (await place.then(readHeader).catch(saidOfBackups))?.recipient ?? null
}

/** The finding of the doctor about backups says why the place cannot be read. */
function saidOfBackups(): null {
  return null
}
