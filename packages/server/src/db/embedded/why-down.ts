import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { orIfAbsent } from '@svc/git'
import { measureFileSystem } from '../../storage/disk-watch.ts'

/** PostgreSQL writes a file of this size before its next change, also when it starts after a crash. */
export const logFileBytes = 16 * 1024 ** 2

/** Whether the embedded PostgreSQL cannot run because its disk is full. It reports that in its log alone. */
export async function lacksSpace(dataDir: string): Promise<boolean> {
  return (await measureFileSystem(dataDir)).freeBytes < logFileBytes
}

/** Parts of a data folder without which PostgreSQL does not start; `pg_wal` also if it is empty. None for one that is not there. */
export async function lostParts(folder: string): Promise<string[]> {
  if (!(await exists(join(folder, 'PG_VERSION')))) return []
  const lost: string[] = []
  for (const part of ['base', 'global/pg_control', 'pg_xact']) if (!(await exists(join(folder, part)))) lost.push(part)
  const files = await readdir(join(folder, 'pg_wal')).catch(orIfAbsent<string[]>([]))
  // Its files have names of 24 digits.
  if (!files.some((name) => /^[0-9A-F]{24}$/.test(name))) lost.push('pg_wal')
  return lost
}

const exists = (path: string) =>
  stat(path)
    .then(() => true)
    .catch(orIfAbsent(false))
