import { createHash, randomBytes, randomUUID } from 'node:crypto'
import { mkdir } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { endStanding } from '@svc/git'
import type { Logger } from 'pino'
import { AppKeeper } from './apps/keeper.ts'
import { CheckKeeper } from './checks/keeper.ts'
import type { Config } from './config.ts'
import type { Deps } from './deps.ts'
import { DiskWatch } from './disk-watch.ts'
import { keepEmbeddedPostgres } from './db/embedded-kept.ts'
import { LocalLocks } from './db/lock.ts'
import { migrate } from './db/migrate.ts'
import { openDatabase } from './db/pool.ts'
import { closingEgress, makeEgressGate } from './egress/gate.ts'
import { EventWire } from './events/wire.ts'
import { openKeyring } from './keyring/open-keyring.ts'
import { forgettingKeys } from './redaction/forgetting-driver.ts'
import type { Redaction } from './redaction/redaction.ts'
import { watchedKeyring } from './redaction/watched-keyring.ts'
import { chooseDriver } from './sandbox-driver.ts'
import { Pulse } from './scheduler/pulse.ts'
import { SessionFeed } from './sessions/feed.ts'
import { SessionKeeper } from './sessions/keeper.ts'
import { WarmPool } from './sessions/warm-pool.ts'

/** The kernel's limit for the path of a unix socket. */
const socketPathBytesMax = 107
/** sandboxes/containers/<id>/daemon.sock, as far as it is longer than relay.sock. */
const longestBelow = 60

export interface Built {
  deps: Deps
  /** Ends the database last; everything that uses it has to be closed before. */
  close(): Promise<void>
}

/** Makes everything the server uses, in the order it depends on one another. What was started is ended again when a later step fails. */
export async function buildDeps(config: Config, log: Logger, redaction: Redaction): Promise<Built> {
  await mkdir(config.dataDir, { recursive: true, mode: 0o700 })
  const runDir = await makeRunDir(config)
  const embedded =
    config.databaseUrl === null ? await keepEmbeddedPostgres({ dataDir: join(config.dataDir, 'postgres'), log }) : null
  const url = config.databaseUrl ?? embedded?.connectionString ?? ''
  try {
    await migrate(url)
    const database = openDatabase(url, log)
    const keyring = watchedKeyring(await openKeyring({ config, db: database.db, log }), redaction)
    const egress = makeEgressGate({ folder: join(runDir, 'egress'), operator: config.egress, log })
    const driver = await chooseDriver(config, runDir, log)
    const disk = new DiskWatch({ config, log })
    await disk.begin()
    const base = {
      config,
      disk,
      db: database.db,
      locks: database.locks,
      localLocks: new LocalLocks(),
      keyring,
      redaction,
      sandboxes: driver === null ? null : forgettingKeys(closingEgress(driver, egress), redaction),
      egress,
      feed: new SessionFeed(),
      events: new EventWire({ db: database.db, locks: database.locks, log }),
      relaySocket: join(runDir, 'relay.sock'),
      instanceId: randomUUID(),
      pulse: new Pulse(),
      now: () => new Date(),
      newId: () => randomUUID(),
      randomBytes: (count: number) => randomBytes(count),
      log,
    }
    const served = { ...base, apps: new AppKeeper(base), checks: new CheckKeeper(base) }
    const pooled = { ...served, warm: new WarmPool(served) }
    return {
      deps: { ...pooled, keeper: new SessionKeeper(pooled) },
      async close() {
        disk.end()
        await base.events.close()
        await endStanding()
        await database.close()
        await embedded?.stop()
      },
    }
  } catch (error) {
    await embedded?.stop()
    throw error
  }
}

/** Sockets need a short path; a data folder with a long one gets a folder of its own in the temporary place. */
export async function makeRunDir(config: Config): Promise<string> {
  const inData = join(config.dataDir, 'run')
  const id = createHash('sha256').update(config.dataDir).digest('hex').slice(0, 12)
  const runDir =
    Buffer.byteLength(join(inData, 'relay.sock')) < socketPathBytesMax - longestBelow
      ? inData
      : join(tmpdir(), `svc-${process.getuid?.() ?? 0}-${id}`)
  await mkdir(runDir, { recursive: true, mode: 0o700 })
  return runDir
}
