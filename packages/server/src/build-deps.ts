import { randomBytes, randomUUID } from 'node:crypto'
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
import { publicInternet } from './egress/dial.ts'
import { closingEgress, makeEgressGate } from './egress/gate.ts'
import { exceptThisServer } from './egress/this-server.ts'
import { EventWire } from './events/wire.ts'
import { openKeyring } from './keyring/open-keyring.ts'
import { forgettingKeys } from './redaction/forgetting-driver.ts'
import { Metrics } from './metrics/metrics.ts'
import type { Redaction } from './redaction/redaction.ts'
import { watchedKeyring } from './redaction/watched-keyring.ts'
import { makeRunDir } from './run-dir.ts'
import { chooseDriver } from './sandbox-driver.ts'
import { Pulse } from './scheduler/pulse.ts'
import { SessionFeed } from './sessions/feed.ts'
import { SessionKeeper } from './sessions/keeper.ts'
import { WarmPool } from './sessions/warm-pool.ts'

export interface Built {
  deps: Deps
  /** Ends the database last; everything that uses it has to be closed before. */
  close(): Promise<void>
}

/** Makes everything the server uses, in the order it depends on one another. What was started is ended again when a later step fails. */
export async function buildDeps(config: Config, log: Logger, redaction: Redaction): Promise<Built> {
  const runDir = await makeRunDir(config)
  const embedded =
    config.databaseUrl === null ? await keepEmbeddedPostgres({ dataDir: join(config.dataDir, 'postgres'), log }) : null
  const url = config.databaseUrl ?? embedded?.connectionString ?? ''
  try {
    await migrate(url)
    const database = openDatabase(url, log)
    const keyring = watchedKeyring(await openKeyring({ config, db: database.db, log }), redaction)
    const egress = makeEgressGate({
      folder: join(runDir, 'egress'),
      operator: config.egress,
      log,
      dial: exceptThisServer(publicInternet, config),
    })
    const driver = await chooseDriver(config, runDir, log)
    const disk = new DiskWatch({ config, log })
    await disk.begin()
    const metrics = new Metrics()
    metrics.watchProcess()
    metrics.watchPools(database.pools)
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
      metrics,
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
