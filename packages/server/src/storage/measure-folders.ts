/** Measures what uses the disk of the data beside the repositories and the rows of the database. */
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { FolderBytes } from '@svc/contract'
import { sharesDisk } from '../backup/place/leave-room.ts'
import type { Config } from '../config.ts'

/** Largest first. Folders that are not there are left out. */
export async function measureFolders({
  dataDir,
  databaseUrl,
  backups,
}: Pick<Config, 'dataDir' | 'databaseUrl' | 'backups'>): Promise<FolderBytes[]> {
  const postgres = join(dataDir, 'postgres')
  const isBeside = backups !== null && (await sharesDisk(dataDir, backups.place))
  const folders: Omit<FolderBytes, 'bytes'>[] = [
    databaseUrl === null
      ? { kind: 'database_log', path: join(postgres, 'pg_wal') }
      : { kind: 'unused_database', path: postgres },
    ...(await leftDatabases(dataDir)),
    { kind: 'logs', path: join(dataDir, 'log') },
    { kind: 'copies', path: join(dataDir, 'replicas') },
    ...(isBeside ? [{ kind: 'backups', path: backups.place } as const] : []),
  ]
  const measured = await Promise.all(folders.map(async (each) => ({ ...each, bytes: await folderBytes(each.path) })))
  return measured.filter(({ bytes }) => bytes > 0).toSorted((a, b) => b.bytes - a.bytes)
}

/** Embedded databases that a move back left under another name. */
async function leftDatabases(dataDir: string) {
  const names = (await readdir(dataDir).catch(isGone)).filter((name) => name.startsWith('postgres-left-'))
  return names.map((name) => ({ kind: 'unused_database' as const, path: join(dataDir, name) }))
}

const blockBytes = 512

/** As much as its files take on the disk. */
async function folderBytes(dir: string): Promise<number> {
  const entries = await readdir(dir, { withFileTypes: true }).catch(isGone)
  let sum = 0
  for (const entry of entries) {
    const path = join(dir, entry.name)
    if (entry.isDirectory()) sum += await folderBytes(path)
    else if (entry.isFile()) sum += await stat(path).then(({ blocks }) => blocks * blockBytes, noBytes)
  }
  return sum
}

/** It was never made, or its owner lets no other user read it. */
function isGone(): [] {
  return []
}

/** It was removed since it was listed. */
function noBytes(): number {
  return 0
}
