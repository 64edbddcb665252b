/**
 * `svc server --end-sandboxes`: ends the sandboxes that a stopped server left running. It is a server without requests and
 * jobs, so that it saves the unfinished work of sessions first. A running server ends its own sandboxes.
 */
import { randomUUID } from 'node:crypto'
import type { UnsavedSession } from '@svc/contract/daemon/owner-socket'
import { isUuid } from '../auth/allow.ts'
import { buildDeps, type Built } from '../build-deps.ts'
import { type Config, operatorSecrets } from '../config.ts'
import type { Deps } from '../deps.ts'
import { withDeadline } from '../deadline.ts'
import { makeLog } from '../log.ts'
import { Redaction } from '../redaction/redaction.ts'
import { countUnsaved, getSandbox } from '../sandboxes/store.ts'
import { startHeartbeat } from '../scheduler/instance.ts'
import { deleteOtherInstances } from '../scheduler/instance-store.ts'
import { saveAll } from '../sessions/lifecycle/save-all.ts'
import { getSessionById } from '../sessions/store.ts'
import { makeDrivers } from './choose-driver.ts'
import { lacksDatabaseUrl, lockDataFolder } from './folder-lock.ts'
import { recordStop } from './folder-records.ts'
import { lackingDatabase } from './other-database.ts'
import { makeDataDir, tidyRunDir } from './run-dir.ts'
import { runningSandboxes } from './server-info.ts'
import { StartupError } from './startup-error.ts'

/** Longer than a silent sandbox is asked, and than reading a conversation takes. */
const takeOverMsMax = 60_000

export interface Ended {
  /** Sandboxes, with those that nothing used. */
  ended: number
  sessions: number
  apps: number
  checks: number
  /** Sessions whose last changes are not saved. */
  unsaved: number
  /** Sessions whose work cannot be saved, so that nothing was ended. */
  kept: UnsavedSession[]
}

/** Also ends sessions whose newest work cannot be saved. */
const discard = '--discard'

export async function endSandboxes(config: Config, more: string[] = []): Promise<Ended> {
  const redaction = new Redaction(operatorSecrets(config))
  const log = makeLog('json', (text) => redaction.everything(text))
  log.level = 'warn'
  requireItsDatabase(config)
  await makeDataDir(config.dataDir)
  const folder = lockDataFolder(config.dataDir, randomUUID)
  try {
    const built = await buildDeps(config, { log, redaction, folderId: folder.folderId })
    try {
      return await endAll(built, folder.folderId, more.includes(discard))
    } finally {
      await recordStop(built.deps)
      await built.close()
      await tidyRunDir(built.runDir)
    }
  } finally {
    folder.release()
  }
}

/** With another database the sandboxes of its sessions would look unused, and end without their work. */
function requireItsDatabase(config: Config): void {
  const lacking = lackingDatabase(config)
  if (lacking !== null) throw new StartupError(`${lacking.says} ${lacking.mend} Nothing was ended.`)
  if (!lacksDatabaseUrl(config)) return
  throw new StartupError(
    `The server of the data folder ${config.dataDir} uses a PostgreSQL of yours, and DATABASE_URL is not set. Set it as for the server, and repeat the command. Nothing was ended.`,
  )
}

async function endAll({ deps, runDir }: Built, folderId: string, mayLose: boolean): Promise<Ended> {
  const { config, db, sessions } = deps
  if (config.databaseUrl === null) await deleteOtherInstances(db, deps.instanceId)
  // Other servers on the database leave the sessions alone meanwhile.
  const heartbeat = await startHeartbeat(deps, { folderId, onDeath: async () => {} })
  try {
    const sandboxIds = ((await deps.sandboxes?.adopt()) ?? []).map(({ sandboxId }) => sandboxId)
    const { sessions: inUse, apps, checks } = await runningSandboxes(deps)
    // Others belong to apps and checks.
    const ofSessions = sandboxIds.filter(isUuid)
    await Promise.all(ofSessions.map((sandboxId) => takeOver(deps, sandboxId)))
    const kept = mayLose ? [] : await saveAll(deps)
    await sessions.close({ endsSandboxes: kept.length === 0 })
    const counts = { sessions: inUse, apps, checks, unsaved: await countUnsaved(db, ofSessions), kept }
    if (kept.length > 0) return { ended: 0, ...counts }
    return { ended: sandboxIds.length + (await endOfOtherDrivers(deps, runDir)), ...counts }
  } finally {
    await heartbeat.end()
  }
}

async function takeOver({ db, sessions }: Deps, sandboxId: string): Promise<void> {
  const row = await getSandbox(db, sandboxId)
  const session = row === null ? null : await getSessionById(db, row.session_id)
  if (session?.status !== 'running' || session.sandbox?.sandbox_id !== sandboxId) return
  await withDeadline(sessions.takeOver(session), takeOverMsMax, () => null)
}

/** The setting of the driver may have changed since. Also removes what is left of sandboxes that ended by themselves. */
async function endOfOtherDrivers({ config, log }: Deps, runDir: string): Promise<number> {
  let ended = 0
  for (const driver of Object.values(makeDrivers(config, runDir, log))) {
    for (const { sandboxId } of await driver.adopt()) {
      await driver.stop(sandboxId)
      ended += 1
    }
    await driver.sweep()
  }
  return ended
}
