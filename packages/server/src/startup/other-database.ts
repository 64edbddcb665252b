import { existsSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import type { Config } from '../config.ts'
import { handledElsewhere } from '../deadline.ts'
import { StartupError } from './startup-error.ts'

/** With another database that is empty, a server would begin anew in a folder with repositories, which then look orphaned. */
export async function refuseEmptyDatabase({ databaseUrl, dataDir }: Pick<Config, 'databaseUrl' | 'dataDir'>) {
  if (databaseUrl === null || !existsSync(join(dataDir, 'postgres', 'PG_VERSION'))) return
  const client = new pg.Client({ connectionString: databaseUrl })
  // Without a listener it would end the process.
  client.on('error', handledElsewhere)
  await client.connect()
  try {
    const { rows } = await client.query<{ found: string | null }>(`select to_regclass('installation') as found`)
    if (rows[0]?.found != null) return
  } finally {
    await client.end()
  }
  throw new StartupError(
    `The data folder ${dataDir} has a database of its own, and the one of DATABASE_URL is empty. Move the data there first (svc self-host move-database), or unset DATABASE_URL. To begin anew, set SVC_DATA_DIR to an empty folder.`,
  )
}
