/** The embedded database of a stopped server, started for a command. */
import { startEmbeddedPostgres } from '../db/embedded/postgres.ts'
import { connect, type End } from '../db/move/connect.ts'
import { makeLog } from '../log.ts'

/** Closing it stops PostgreSQL. */
export async function startIn(folder: string): Promise<End> {
  const log = makeLog('json', (text) => text)
  log.level = 'warn'
  const embedded = await startEmbeddedPostgres({ dataDir: folder, log })
  try {
    const end = await connect(embedded.connectionString, `the embedded database in ${folder}`)
    return {
      ...end,
      async close() {
        await end.close()
        await embedded.stop()
      },
    }
  } catch (error) {
    await embedded.stop()
    throw error
  }
}
