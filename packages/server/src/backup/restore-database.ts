/** Fills an empty database with the rows of a backup. The hold and the rows become visible in one moment. */
import { join } from 'node:path'
import { firstOwner } from '../accounts/store.ts'
import { auditEvent, recordOperatorAudit } from '../audit/record.ts'
import type { Config } from '../config.ts'
import { layTables } from '../db/migrate.ts'
import { connect, type End } from '../db/move/connect.ts'
import { takeOff } from '../db/move/copy.ts'
import { examineTarget, lockTarget } from '../db/move/examine.ts'
import { leaveOriginal } from '../db/move/leave-original.ts'
import { writeMove } from '../db/move/state.ts'
import { writeRows } from '../db/move/table-stream.ts'
import { listTables, quoted } from '../db/move/tables.ts'
import { openDatabase } from '../db/pool.ts'
import type { DbOrTransaction } from '../db/schema.ts'
import '../failpoint.ts'
import { makeLog } from '../log.ts'
import { deletePurgedRows } from '../projects/store.ts'
import { startIn } from '../startup/embedded-end.ts'
import { StartupError } from '../startup/startup-error.ts'
import { insertHeld } from './hold/store.ts'
import type { Manifest } from './manifest.ts'
import { putRefsOfDatabase } from './refs-of-database.ts'
import type { Opened, Part } from './restore-parts.ts'
import type { RestoreProgress } from './restore.ts'
import { stopSessions } from './stop-sessions.ts'
import { readStored } from './stored-files.ts'

type OnProgress = (progress: RestoreProgress) => void

const otherDatabase = 'A restore needs an empty database of its own: set DATABASE_URL to one.'

/** Before anything is made. The embedded database is new. */
export async function requireEmptyDatabase({ databaseUrl }: Config, moveId: string): Promise<void> {
  if (databaseUrl === null) return
  const end = await connect(databaseUrl)
  try {
    await lockTarget(end, otherDatabase)
    await examineTarget(end, moveId)
  } finally {
    await end.close()
  }
}

export async function restoreDatabase(
  { databaseUrl, dataDir }: Config,
  { opened, others, moveId }: { opened: Opened; others: Part[]; moveId: string },
  onProgress: OnProgress,
): Promise<{ database: string; stopped_sessions: number }> {
  const end = databaseUrl === null ? await startIn(join(dataDir, 'postgres')) : await connect(databaseUrl)
  try {
    await lockTarget(end, otherDatabase)
    await examineTarget(end, moveId)
    const { client } = end
    const { manifest } = opened
    // The tables as the backup has them; later migrations then change the rows, as they did in the original.
    await layTables(client, manifest.migration)
    // Until the end, the database counts as an unfinished copy, which no server uses and another restore may replace.
    const other = `the backup ${manifest.backup_id}`
    await writeMove(client, { move_id: moveId, state: 'arriving', other })
    await fill(end, opened, onProgress)
    await failpoint('restore.after_rows')
    await layTables(client)
    const repositories = others.flatMap((other) => other.repositories)
    const stopped = await hold(urlOf(end, databaseUrl), manifest, (trx) =>
      putRefsOfDatabase(trx, { dataDir, repositories }),
    )
    await leaveOriginal(client)
    for (const { name } of await listTables(client)) await client.query(`analyze ${quoted(name)}`)
    await writeMove(client, { move_id: moveId, state: 'arrived', other })
    await failpoint('restore.after_database')
    return { database: end.address, stopped_sessions: stopped }
  } finally {
    await end.close()
  }
}

/** The embedded one listens on a socket alone. */
function urlOf({ client }: End, databaseUrl: string | null): string {
  return (
    databaseUrl ?? `postgresql://${client.user}@localhost/${client.database}?host=${encodeURIComponent(client.host)}`
  )
}

async function fill({ client }: End, { place, manifest, identity }: Opened, onProgress: OnProgress): Promise<void> {
  const tables = await listTables(client)
  requireSameTables(tables, manifest)
  await client.query('begin')
  const putBack = await takeOff(client, tables)
  for (const [done, { file, rows, ...table }] of manifest.tables.entries()) {
    onProgress({ phase: 'database', name: table.name, done, of: manifest.tables.length })
    await writeRows(client, table, readStored(place, file, { identity, isCompressed: true }))
    const found = await client.query<{ rows: string }>(`select count(*) as rows from ${quoted(table.name)}`)
    if (Number(found.rows[0]!.rows) !== rows)
      throw new StartupError(
        `The table ${table.name} has ${found.rows[0]!.rows} rows after the restore, and ${rows} in the backup. Use another backup.`,
      )
  }
  await putBack()
  for (const { name, last, isCalled } of manifest.sequences)
    await client.query('select setval($1::regclass, $2, $3)', [quoted(name), last, isCalled])
  await failpoint('restore.before_commit')
  await client.query('commit')
}

function requireSameTables(tables: { name: string }[], manifest: Manifest): void {
  const ours = new Set(tables.map(({ name }) => name))
  const foreign = manifest.tables.find(({ name }) => !ours.has(name))
  if (foreign === undefined) return
  throw new StartupError(
    `The backup has the table ${foreign.name}, which svc does not make. Keep tables of your own in another schema, and back up again.`,
  )
}

/** Whatever ran in the original has ended here, and nothing acts. */
async function hold(
  url: string,
  { backup_id, created_at, purged = [] }: Manifest,
  putRefs: (trx: DbOrTransaction) => Promise<void>,
): Promise<number> {
  const log = makeLog('json', (text) => text)
  log.level = 'warn'
  const database = openDatabase(url, log)
  try {
    return await database.db.transaction().execute(async (trx) => {
      const reason = `The server was restored from a backup of ${created_at}. The session ran on the original, and its unfinished work is as of that time.`
      await putRefs(trx)
      await deletePurgedRows(
        trx,
        purged.map(({ project_id }) => project_id),
      )
      const stopped = await stopSessions(trx, { reason, at: new Date() })
      await insertHeld(trx, { backup_id, backup_created_at: created_at })
      await recordOperatorAudit(trx, {
        ...auditEvent(
          { account_id: (await firstOwner(trx))?.account_id ?? null },
          'server.restore',
          'server',
          backup_id,
        ),
        after: { backup_id, created_at, stopped_sessions: stopped, purged_projects: purged.length },
      })
      return stopped
    })
  } finally {
    await database.close()
  }
}
