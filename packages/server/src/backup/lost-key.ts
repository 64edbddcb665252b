/** A missing key file that backups need. A new key in its place would not open them, and their own key could overwrite it. */
import { existsSync } from 'node:fs'
import type { Config } from '../config.ts'
import { StartupError } from '../startup/startup-error.ts'
import { readHeader } from './catalog.ts'
import { keyOfFile, type KnownKey } from './known-places.ts'
import { openPlace } from './place/open.ts'

type BackupConfig = Pick<Config, 'dataDir' | 'backups' | 'objectStore'>

export async function refuseLostKey(config: BackupConfig, keyFile: string): Promise<void> {
  const lost = await lostKey(config, keyFile)
  if (lost === null) return
  throw new StartupError(
    `The key file ${keyFile} is gone, and the backups in ${lost.place} are encrypted for its key (${lost.recipient}), which a new one cannot open. Restore the file from its copy. If there is no copy, those backups are lost: begin with a new key in another file, and in a place without backups (--encrypt <new key file>; for scheduled backups SVC_BACKUP_KEY_FILE and SVC_BACKUP_DIR). Nothing was changed.`,
  )
}

/** Null: the file is there, or no known backup needs it. */
export async function lostKey(config: BackupConfig, keyFile: string): Promise<KnownKey | null> {
  if (existsSync(keyFile)) return null
  const known = await keyOfFile(config, keyFile)
  if (known !== null || config.backups?.keyFile !== keyFile) return known
  // A program of an earlier version made them, and noted no key.
  const recipient = await recipientOfSchedule(config)
  return recipient === null ? null : { recipient, place: config.backups.place }
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
