/** The backups of a folder, newest first. Needs no key: their manifests are not encrypted. */
import { resolve } from 'node:path'
import { StartupError } from '../startup/startup-error.ts'
import { listBackups, readBackup, readHeader } from './folder.ts'

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

export async function describeBackups({
  folder,
}: {
  folder: string
}): Promise<{ folder: string; backups: BackupSummary[] }> {
  const root = resolve(folder)
  if ((await readHeader(root)) === null) throw new StartupError(`There are no backups in ${root}.`)
  const backups: BackupSummary[] = []
  for (const id of (await listBackups(root)).toReversed()) {
    const { backup_id, created_at, server_version, tables, repositories, added_bytes, ...rest } = await readBackup(
      root,
      id,
    )
    backups.push({
      ...{ backup_id, created_at, server_version, added_bytes },
      rows: tables.reduce((sum, { rows }) => sum + rows, 0),
      repositories: repositories.length,
      encrypted: rest.recipient !== null,
      missing: rest.missing.length,
      master_key_ids: rest.wrapped_keys.map(({ master_key_id }) => master_key_id),
    })
  }
  return { folder: root, backups }
}
