import type { Logger } from 'pino'
import type { SandboxDriver } from '@svc/sandbox'
import type pg from 'pg'
import type { AppKeeper } from './apps/keeper.ts'
import type { CheckKeeper } from './checks/keeper.ts'
import type { Config } from './config.ts'
import type { LocalLocks } from './db/lock.ts'
import type { Db } from './db/schema.ts'
import type { DiskWatch } from './disk-watch.ts'
import type { EgressGate } from './egress/gate.ts'
import type { EventWire } from './events/wire.ts'
import type { Keyring } from './keyring/keyring.ts'
import type { Redaction } from './redaction/redaction.ts'
import type { Metrics } from './metrics/metrics.ts'
import type { Pulse } from './scheduler/pulse.ts'
import type { SessionFeed } from './sessions/feed.ts'
import type { SessionKeeper } from './sessions/keeper.ts'
import type { WarmPool } from './sessions/warm-pool.ts'

/** Everything a request or a job may use, made once by main.ts or by a test. Functions take the part they touch. */
export interface Deps {
  config: Config
  db: Db
  locks: pg.Pool
  localLocks: LocalLocks
  keyring: Keyring
  /** Knows every secret this process has opened, and takes it out of what is kept, shown and logged. */
  redaction: Redaction
  sandboxes: SandboxDriver | null
  /** Whether there is room for new work. */
  disk: DiskWatch
  egress: EgressGate
  metrics: Metrics
  feed: SessionFeed
  /** Wakes readers of project events. */
  events: EventWire
  warm: WarmPool
  keeper: SessionKeeper
  apps: AppKeeper
  checks: CheckKeeper
  /** Unix socket on which this server answers what sandboxes send to their relay. */
  relaySocket: string
  /** This run of the server; sandboxes of the local driver live and die with it. */
  instanceId: string
  /** When other servers count as dead. */
  pulse: Pulse
  now: () => Date
  newId: () => string
  randomBytes: (count: number) => Uint8Array
  log: Logger
}
