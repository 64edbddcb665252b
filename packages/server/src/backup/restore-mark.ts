/** Marks a data folder while it is restored, so that no server starts on a part of it. */
import { existsSync } from 'node:fs'
import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { StartupError } from '../startup/startup-error.ts'
import { writeFileWhole } from './place/write-file.ts'

const markOf = (dataDir: string) => join(dataDir, 'restore-unfinished')

export function hasRestoreMark(dataDir: string): boolean {
  return existsSync(markOf(dataDir))
}

/** The id of an interrupted restore, by which its database is known. Null without one. */
export async function interruptedRestore(dataDir: string): Promise<string | null> {
  if (!hasRestoreMark(dataDir)) return null
  return /^\S+ (\S+)\n$/.exec(await readFile(markOf(dataDir), 'utf8'))?.[1] ?? null
}

export async function markRestore(dataDir: string, { backupId, moveId }: { backupId: string; moveId: string }) {
  await writeFileWhole(markOf(dataDir), `${backupId} ${moveId}\n`)
}

export async function unmarkRestore(dataDir: string): Promise<void> {
  await rm(markOf(dataDir), { force: true })
}

export function refuseUnfinishedRestore({ dataDir }: { dataDir: string }): void {
  if (!hasRestoreMark(dataDir)) return
  throw new StartupError(
    `The restore into ${dataDir} was interrupted. Run svc self-host restore again, which begins anew. Nothing was changed.`,
  )
}
