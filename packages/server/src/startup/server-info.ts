/** What the socket of the data folder tells `svc self-host` about this server. */
import type { DatabaseInfo, RunningSandboxes, ServerInfo } from '@svc/contract/daemon/owner-socket'
import pg from 'pg'
import { adoptableSandboxes as ofApps } from '../apps/store.ts'
import { isUuid } from '../auth/allow.ts'
import { adoptableSandboxes as ofChecks } from '../checks/store.ts'
import { lacksTables, lacksTablesMend, lacksTablesText } from '../db/lacks-tables.ts'
import { knownVersion } from '../db/migrate.ts'
import { addressOf } from '../db/move/connect.ts'
import { lacksSpace } from '../db/embedded/why-down.ts'
import { pingDatabase } from '../db/pool.ts'
import { missingNeeds } from '../doctor/examine-needs.ts'
import { withDeadline } from '../deadline.ts'
import type { Deps } from '../deps.ts'
import { countOfSessions } from '../sandboxes/store.ts'
import { version } from '../version.ts'

type InfoDeps = Pick<Deps, 'config' | 'sandboxes' | 'db' | 'log' | 'hold'>

/** Less than the client waits for an answer. */
const databaseMs = 2_000

export function serverInfoOf(
  deps: InfoDeps,
  { earlierVersion, joins }: { earlierVersion: string | null; joins: string | null },
): () => Promise<ServerInfo> {
  const { databaseUrl } = deps.config
  // The URL may name files of certificates. At the start of the server they are there.
  const address = databaseUrl === null ? null : addressOf(new pg.Client({ connectionString: databaseUrl }))
  return async () => {
    const [state, lacks] = await Promise.all([databaseState(deps), missingNeeds(deps.config)])
    if (state.problem !== null && databaseUrl === null && (await lacksSpace(deps.config.dataDir)))
      state.problem = `its disk is full, so it cannot run (${state.problem})`
    const database = { kind: address === null ? ('embedded' as const) : ('external' as const), address, ...state }
    return { ...(await serverInfo(deps, database)), earlier_version: earlierVersion, joins, lacks }
  }
}

async function databaseState({ db, log }: InfoDeps): Promise<Pick<DatabaseInfo, 'problem' | 'read_only'>> {
  try {
    const late = () => ({ problem: `no answer within ${databaseMs / 1000} s` })
    const asked = pingDatabase(db).then(({ isReadOnly }) => ({ problem: null, read_only: isReadOnly }))
    return await withDeadline(asked, databaseMs, late)
  } catch (error) {
    log.warn({ err: error }, 'the database does not answer')
    return { problem: lacksTables(error) ? `${lacksTablesText}. ${lacksTablesMend}` : (error as Error).message }
  }
}

/** Without its database the server can still be found and stopped. */
async function serverInfo(deps: InfoDeps, database: DatabaseInfo): Promise<ServerInfo> {
  const { publicUrl, dataDir, masterKeyFile, backups } = deps.config
  const held = deps.hold.held === null ? null : { backup_created_at: deps.hold.held.backup_created_at }
  const info = {
    ...{ pid: process.pid, url: publicUrl, data_dir: dataDir, version, program: process.execPath, held },
    ...{ own_url: ownUrl(deps.config), tables_version: knownVersion },
    master_key_file: masterKeyFile,
    backup_key_file: backups?.keyFile ?? null,
    database,
  }
  if (database.problem !== null) return info
  try {
    return { ...info, sandboxes: await runningSandboxes(deps) }
  } catch (error) {
    deps.log.warn({ err: error }, 'failed to count what runs in sandboxes')
    return info
  }
}

/** A port with the PROXY protocol answers only the proxies. Port 0 is any free one, which the public URL names. */
function ownUrl({ host, port, network }: InfoDeps['config']): string | null {
  if (network.proxyProtocol || port === 0) return null
  const local = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host
  return `http://${local.includes(':') ? `[${local}]` : local}:${port}`
}

/** The sandboxes of this machine, also those that this server has yet to take over. */
export async function runningSandboxes({
  config,
  sandboxes,
  db,
}: Omit<InfoDeps, 'log' | 'hold'>): Promise<RunningSandboxes> {
  const ids = ((await sandboxes?.list()) ?? []).map(({ sandboxId }) => sandboxId)
  const [sessions, apps, checks] = await Promise.all([
    countOfSessions(db, ids.filter(isUuid)),
    ofApps(db, ids),
    ofChecks(db, ids),
  ])
  return {
    ...{ driver: sandboxes?.name ?? null, outlive: sandboxes?.outlives === true },
    lease_seconds: config.sandboxLeaseSeconds,
    ...{ sessions, apps: apps.size, checks: checks.size },
  }
}
