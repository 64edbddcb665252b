/** The backups of a place, newest first. Needs no key: their manifests are not encrypted, and checksums are of what is stored. */
import type { BackupList, DamagedBackup } from '@svc/contract/daemon/operator-reports'
import type { Config } from '../config.ts'
import { StartupError } from '../startup/startup-error.ts'
import { isDamage, listBackups, noBackupIn, readBackups, readHeader, unneededBytes } from './catalog.ts'
import type { Manifest } from './manifest.ts'
import { openPlace } from './place/open.ts'
import type { Place } from './place/place.ts'
import { isDatedAhead } from './retention.ts'
import { verifyStored } from './stored-files.ts'

interface VerifyProgress {
  phase: 'verifying'
  name: string
  done: number
  of: number
}

type OnProgress = (progress: VerifyProgress) => void

export async function describeBackups(
  config: Pick<Config, 'objectStore'>,
  { place: address, verify = false }: { place: string; verify?: boolean },
  onProgress: OnProgress,
): Promise<BackupList> {
  const place = await openPlace(address, config)
  const header = await readHeader(place)
  const ids = header === null ? [] : await listBackups(place)
  // A folder or a bucket may have its first backup under way.
  if (header === null || (place.isOneFile && ids.length === 0)) throw new StartupError(await noBackupIn(place))
  const { manifests, damaged } = await readBackups(place, ids.toReversed())
  const now = Date.now()
  const backups = manifests.map(({ tables, repositories, recipient, missing, wrapped_keys, ...rest }) => ({
    ...{ backup_id: rest.backup_id, created_at: rest.created_at, server_version: rest.server_version },
    rows: tables.reduce((sum, { rows }) => sum + rows, 0),
    ...{ repositories: repositories.length, added_bytes: rest.added_bytes },
    ...{ encrypted: recipient !== null, missing: missing.length },
    dated_ahead: isDatedAhead(rest.backup_id, now),
    master_key_ids: wrapped_keys.map(({ master_key_id }) => master_key_id),
  }))
  if (verify) damaged.push(...(await damagedFiles(place, manifests, onProgress)))
  const removed = damaged.length === 0 ? [] : await removedSince(place, ids)
  const isThere = ({ backup_id }: { backup_id: string }) => !removed.includes(backup_id)
  return {
    place: place.address,
    backups: backups.filter(isThere),
    damaged: damaged.filter(isThere),
    removed,
    unneeded_bytes: place.isOneFile ? 0 : await unneededBytes(place),
  }
}

/** A removal takes the manifest first, and the files after it. */
async function removedSince(place: Place, ids: readonly string[]): Promise<string[]> {
  const left = new Set(await listBackups(place))
  return ids.filter((id) => !left.has(id))
}

/** Reads each file once, also one that many backups share. */
async function damagedFiles(
  place: Place,
  manifests: readonly Manifest[],
  onProgress: OnProgress,
): Promise<DamagedBackup[]> {
  const users = manifests.flatMap(({ backup_id, refs, tables, repositories }) =>
    [refs, ...tables.map(({ file }) => file), ...repositories.flatMap(({ packs }) => packs)].map((file) => ({
      backup_id,
      file,
    })),
  )
  const files = Map.groupBy(users, ({ file }) => `${file.name} ${file.sha256}`)
  const damaged: DamagedBackup[] = []
  let done = 0
  for (const using of files.values()) {
    const { file } = using[0]!
    onProgress({ phase: 'verifying', name: file.name, done: done++, of: files.size })
    try {
      await verifyStored(place, file)
    } catch (error) {
      if (!isDamage(error)) throw error
      damaged.push(...using.map(({ backup_id }) => ({ backup_id, says: error.message })))
    }
  }
  return damaged
}
