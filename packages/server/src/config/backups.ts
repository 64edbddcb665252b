import { resolve } from 'node:path'
import { parseDuration, parseKeep } from '../backup/duration.ts'
import type { Settings } from './settings.ts'

/** Backups that the server makes by itself. */
export interface BackupSettings {
  dir: string
  everyMs: number
  /** As text, for the command that makes them. Null: all are kept. */
  keep: string | null
  /** Null: they are not encrypted. */
  keyFile: string | null
}

export function readBackups(settings: Settings): { backups: BackupSettings | null } {
  const dir = settings.text('SVC_BACKUP_DIR')
  const every = settings.text('SVC_BACKUP_EVERY')
  const keep = settings.text('SVC_BACKUP_KEEP')
  const keyFile = settings.text('SVC_BACKUP_KEY_FILE')
  const everyMs = parseDuration(every ?? '24h')
  if (everyMs === null) settings.refuse('SVC_BACKUP_EVERY', 'must be a duration such as 6h or 1d')
  if (keep !== null && parseKeep(keep) === null)
    settings.refuse('SVC_BACKUP_KEEP', 'must be a count of backups such as 30, or an age such as 14d')
  if (dir === null && (every ?? keep ?? keyFile) !== null)
    settings.problem(
      ['SVC_BACKUP_DIR', 'SVC_BACKUP_EVERY', 'SVC_BACKUP_KEEP', 'SVC_BACKUP_KEY_FILE'].filter(
        (name) => name === 'SVC_BACKUP_DIR' || settings.text(name) !== null,
      ),
      'SVC_BACKUP_EVERY, SVC_BACKUP_KEEP and SVC_BACKUP_KEY_FILE need SVC_BACKUP_DIR.',
    )
  if (dir === null || everyMs === null) return { backups: null }
  return { backups: { dir: resolve(dir), everyMs, keep, keyFile: keyFile === null ? null : resolve(keyFile) } }
}
