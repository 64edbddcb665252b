/** For commands: the database of the running server, or the same database started for the command. */
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { asUser, ownerName } from '@svc/contract/folder-owner'
import { knownUsers, programWords } from '../../startup/foreign-file.ts'
import { dataMajor } from './data.ts'
import { EmbeddedPostgresError } from './error.ts'
import { type EmbeddedLog, startEmbeddedPostgres } from './postgres.ts'
import { runningDatabase } from './running.ts'

export interface ReachedDatabase {
  url: string
  end(): Promise<void>
}

/**
 * `lock` locks the data folder before its database is started, so that no server starts on it. It throws when a server
 * runs there, whose database is another one or does not run. Null: the data folder has no database.
 */
export async function reachDatabase(
  { databaseUrl, dataDir }: { databaseUrl: string | null; dataDir: string },
  { log, lock }: { log: EmbeddedLog; lock: () => Promise<{ release(): void }> },
): Promise<ReachedDatabase | null> {
  if (databaseUrl !== null) return { url: databaseUrl, end: async () => {} }
  const folder = join(dataDir, 'postgres')
  if ((await dataMajor(folder)) === null) return null
  const running = await runningDatabase(folder)
  if (running !== null) return { url: running, end: async () => {} }
  await refuseAsRoot(dataDir)
  const locked = await lock()
  try {
    const embedded = await startEmbeddedPostgres({ dataDir: folder, log })
    const end = () => embedded.stop().finally(() => locked.release())
    return { url: embedded.connectionString, end }
  } catch (error) {
    locked.release()
    throw error
  }
}

/** PostgreSQL starts only for the owner of its files, so these would become those of root. */
async function refuseAsRoot(dataDir: string): Promise<void> {
  if (process.getuid?.() !== 0) return
  const { uid } = await stat(dataDir)
  if (uid === 0) return
  const owner = { uid, passwd: knownUsers(), program: programWords() }
  throw new EmbeddedPostgresError(
    'not-writable',
    `The data folder ${dataDir} belongs to ${ownerName(owner)}, and its database is stopped. Root would have to take its files over to start it. Run this command as that user, with the same settings: ${asUser(owner)} Or start the server first. Nothing was changed.`,
  )
}
