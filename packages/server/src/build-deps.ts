import { randomBytes, randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { endPooledGit } from '@svc/git'
import { AppReconciler } from './apps/reconciler.ts'
import { CheckReconciler } from './checks/reconciler.ts'
import { Hold } from './backup/hold/hold.ts'
import { refuseUnfinishedRestore } from './backup/restore-mark.ts'
import type { Config } from './config.ts'
import type { Deps } from './deps.ts'
import { DiskWatch } from './storage/disk-watch.ts'
import { superviseEmbeddedPostgres } from './db/embedded/supervise.ts'
import { LocalLocks } from './db/lock.ts'
import { migrate } from './db/migrate.ts'
import { type Database, openDatabase } from './db/pool.ts'
import { publicInternet } from './egress/dial.ts'
import { withEgressCleanup, makeEgressGate } from './egress/gate.ts'
import { exceptThisServer } from './egress/this-server.ts'
import { EventNotifier } from './events/notifier.ts'
import { PeerTls } from './fleet/peer-tls.ts'
import { Replicas } from './projects/replicas/replicas.ts'
import { HomeGate } from './fleet/home-gate.ts'
import { endProcess, guardName } from './fleet/own-name.ts'
import { registerServer } from './fleet/register.ts'
import { findServer } from './fleet/store.ts'
import { openKeyring } from './keyring/open-keyring.ts'
import { withKeyCleanup } from './redaction/forgetting-driver.ts'
import { Metrics } from './metrics/metrics.ts'
import { watchedKeyring } from './redaction/watched-keyring.ts'
import type { StartupHooks } from './startup/banner.ts'
import { earlierStateText, recordFolder, refuseToServe } from './startup/folder-records.ts'
import { keepDatabase, refuseLackingDatabase, refuseOtherDatabase } from './startup/other-database.ts'
import { makeRunDir } from './startup/run-dir.ts'
import { chooseDriver } from './startup/choose-driver.ts'
import { readPressure } from './sandboxes/pressure.ts'
import { Heartbeat } from './scheduler/heartbeat.ts'
import { SessionFeed } from './sessions/conversation/feed.ts'
import { SessionReconciler } from './sessions/lifecycle/reconciler.ts'
import { noTracing } from './tracing/tracing.ts'
import { WarmPool } from './sessions/warm/pool.ts'
import { version } from './version.ts'

export interface Built {
  deps: Deps
  /** The folder of its sockets and sandboxes. */
  runDir: string
  earlierVersion: string | null
  /** See `Registered`. */
  joins: string | null
  /** See `ServerKeyring`. */
  rewriteMasterKey(): Promise<boolean>
  /** Ends the database last, so close everything that uses it before. */
  close(): Promise<void>
}

type Start = Pick<Deps, 'log' | 'redaction'> &
  Partial<Pick<Deps, 'tracing'>> &
  Pick<StartupHooks, 'makeDriver'> & { folderId: string }

/** Null: the database is the operator's. */
async function startEmbedded({ databaseUrl, dataDir }: Config, log: Deps['log']) {
  return databaseUrl === null ? superviseEmbeddedPostgres({ dataDir: join(dataDir, 'postgres'), log }) : null
}

/** Before anything starts in it. */
function refuseFolder(config: Config): void {
  refuseUnfinishedRestore(config)
  refuseLackingDatabase(config)
  refuseToServe(config)
}

/** Last, since a start that fails changes nothing. Resolves with a text if the folder is of an earlier time than when its server last ran. */
async function enterFolder(config: Config, log: Deps['log']): Promise<string | null> {
  const earlierState = earlierStateText(config)
  if (earlierState !== null) log.warn(earlierState)
  await recordFolder(config, { log })
  return earlierState
}

/** Makes everything the server uses, each part after those it depends on. A failure ends the parts that have started. */
export async function buildDeps(
  config: Config,
  { log, redaction, tracing = noTracing, folderId, makeDriver }: Start,
): Promise<Built> {
  refuseFolder(config)
  const embedded = await startEmbedded(config, log)
  const url = config.databaseUrl ?? embedded?.connectionString ?? ''
  let database: Database | null = null
  try {
    const instanceId = randomUUID()
    const opened = openDatabase(url, log, { applicationName: `svc ${instanceId}` })
    database = opened
    // A move between databases takes the lock of migrations, then looks for connections of servers. In the opposite
    // order here, one of the two always sees the other.
    await opened.reserve()
    await refuseOtherDatabase(config, url)
    const runDir = await makeRunDir(config)
    await migrate(url)
    const keys = await openKeyring({ config, db: opened.db, log })
    const keyring = watchedKeyring(keys, redaction)
    const earlierVersion = await findEarlierVersion({ db: opened.db, log }, folderId)
    const { joins, ...registered } = await registerServer({ db: opened.db, config, log }, { instanceId, folderId })
    await keepDatabase(config, url)
    guardName(opened, { ...registered, instanceId, config, onLost: endProcess(log) })
    const peerTls = config.peerUrl === null ? null : await PeerTls.make(keyring)
    const egress = makeEgressGate({
      folder: join(runDir, 'egress'),
      operator: config.egress,
      log,
      dial: exceptThisServer(publicInternet, config),
    })
    const driver =
      (await makeDriver?.()) ?? (await chooseDriver(config, runDir, log, keyring.derive('links to sandboxes')))
    const disk = new DiskWatch({ config, log, home: registered.home })
    await disk.begin()
    const metrics = new Metrics()
    metrics.watchProcess()
    metrics.watchPools(opened.pools)
    const deps = assembleDeps(opened, {
      ...registered,
      peerTls,
      instanceId,
      hold: await Hold.read(opened.db),
      config,
      disk,
      keyring,
      redaction,
      sandboxes: driver === null ? null : withKeyCleanup(withEgressCleanup(driver, egress), redaction),
      egress,
      metrics,
      tracing,
      relaySocket: join(runDir, 'relay', 'relay.sock'),
      heartbeat: new Heartbeat(),
      log,
      undeclaredError: (route, code) => log.warn({ route, code }, 'a route answered with an undeclared error code'),
    })
    const earlierState = await enterFolder(config, log)
    return {
      deps,
      runDir,
      earlierVersion,
      joins: earlierState ?? joins,
      rewriteMasterKey: keys.rewriteMasterKey,
      async close() {
        disk.end()
        await egress.end()
        await deps.events.close()
        await endPooledGit()
        await opened.close()
        await embedded?.stop()
      },
    }
  } catch (error) {
    // Its connections would keep the program from ending.
    await database?.close()
    await embedded?.stop()
    throw error
  }
}

/** Null for the same version, and for a folder that no server used before. */
async function findEarlierVersion({ db, log }: Pick<Deps, 'db' | 'log'>, folderId: string): Promise<string | null> {
  const before = (await findServer(db, { data_folder: folderId }))?.settings?.['svc_version'] ?? null
  if (before === version || before === null) return null
  log.info({ from: before, to: version }, 'another version of svc used this data folder before')
  return before
}

type Given = 'config' | 'disk' | 'keyring' | 'redaction' | 'sandboxes' | 'egress' | 'metrics' | 'relaySocket'
type Own = Pick<Deps, Given | 'heartbeat' | 'log' | 'serverName' | 'home' | 'peerTls' | 'undeclaredError'>

/** Adds what does not depend on where the server runs. Tests replace parts of it. */
export function assembleDeps({ db, locks }: Pick<Database, 'db' | 'locks'>, own: Own & Partial<Deps>): Deps {
  const base = {
    db,
    locks,
    localLocks: new LocalLocks(),
    tracing: noTracing,
    feed: new SessionFeed(),
    hold: Hold.none(),
    homeGate: new HomeGate(),
    events: new EventNotifier({ db, locks, log: own.log }),
    instanceId: randomUUID(),
    pressure: readPressure,
    now: () => new Date(),
    newId: () => randomUUID(),
    randomBytes: (count: number) => randomBytes(count),
    ...own,
  }
  return withReconcilers({ ...base, replicas: own.replicas ?? new Replicas(base) })
}

/** The parts that start work by themselves, each made from the ones before. */
export function withReconcilers(base: Omit<Deps, 'apps' | 'checks' | 'warm' | 'sessions'>): Deps {
  const served = { ...base, apps: new AppReconciler(base), checks: new CheckReconciler(base) }
  const pooled = { ...served, warm: new WarmPool(served) }
  return { ...pooled, sessions: new SessionReconciler(pooled) }
}
