/** The backups of a place, newest first. Needs no key: their manifests are not encrypted. */
import type { Config } from '../config.ts'
import { StartupError } from '../startup/startup-error.ts'
import { type DamagedBackup, listBackups, noBackupIn, readBackups, readHeader } from './catalog.ts'
import { openPlace } from './place/open.ts'

export interface BackupSummary {
  backup_id: string
  created_at: string
  server_version: string
  rows: number
  repositories: number
  added_bytes: number
  encrypted: boolean
  missing: number
  master_key_ids: string[]
}

export async function describeBackups(
  config: Pick<Config, 'objectStore'>,
  { place: address }: { place: string },
): Promise<{ place: string; backups: BackupSummary[]; damaged: DamagedBackup[] }> {
  const place = await openPlace(address, config)
  const header = await readHeader(place)
  const ids = header === null ? [] : await listBackups(place)
  // A folder or a bucket may have its first backup under way.
  if (header === null || (place.isOneFile && ids.length === 0)) throw new StartupError(await noBackupIn(place))
  const { manifests, damaged } = await readBackups(place, ids.toReversed())
  const backups = manifests.map(({ tables, repositories, recipient, missing, wrapped_keys, ...rest }) => ({
    ...{ backup_id: rest.backup_id, created_at: rest.created_at, server_version: rest.server_version },
    rows: tables.reduce((sum, { rows }) => sum + rows, 0),
    ...{ repositories: repositories.length, added_bytes: rest.added_bytes },
    ...{ encrypted: recipient !== null, missing: missing.length },
    master_key_ids: wrapped_keys.map(({ master_key_id }) => master_key_id),
  }))
  return { place: place.address, backups, damaged }
}
