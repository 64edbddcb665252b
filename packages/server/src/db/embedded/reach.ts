/** For commands: the database of the running server, or the same database started for the command. */
import { join } from 'node:path'
import { dataMajor } from './data.ts'
import { type EmbeddedLog, startEmbeddedPostgres } from './postgres.ts'
import { runningDatabase } from './running.ts'

export interface ReachedDatabase {
  url: string
  /** The command started it, so no server runs on it. */
  isOurs: boolean
  end(): Promise<void>
}

/** Null: the data folder has no database. */
export async function reachDatabase(
  { databaseUrl, dataDir }: { databaseUrl: string | null; dataDir: string },
  log: EmbeddedLog,
): Promise<ReachedDatabase | null> {
  if (databaseUrl !== null) return { url: databaseUrl, isOurs: false, end: async () => {} }
  const folder = join(dataDir, 'postgres')
  if ((await dataMajor(folder)) === null) return null
  const running = await runningDatabase(folder)
  if (running !== null) return { url: running, isOurs: false, end: async () => {} }
  const embedded = await startEmbeddedPostgres({ dataDir: folder, log })
  return { url: embedded.connectionString, isOurs: true, end: () => embedded.stop() }
}
