import type { Logger } from 'pino'
import type { ErrorCode } from '@svc/contract/errors'
import type { SandboxDriver } from '@svc/sandbox'
import type pg from 'pg'
import type { Serving } from './apps/serving.ts'
import type { Hold } from './backup/hold/hold.ts'
import type { Config } from './config.ts'
import type { LocalLocks } from './db/lock.ts'
import type { Repository, StoreFile } from '@svc/git'
import type { ReplicaMode } from './config/fleet.ts'
import type { Db, Row } from './db/schema.ts'
import type { DiskWatch } from './storage/disk-watch.ts'
import type { EgressGate } from './egress/gate.ts'
import type { HomeGate } from './fleet/home-gate.ts'
import type { EventNotifier } from './events/notifier.ts'
import type { PeerTls } from './fleet/peer-tls.ts'
import type { Keyring } from './keyring/keyring.ts'
import type { Redaction } from './redaction/redaction.ts'
import type { Metrics } from './metrics/metrics.ts'
import type { Pressure } from './sandboxes/pressure.ts'
import type { Heartbeat } from './scheduler/heartbeat.ts'
import type { DaemonAddress } from './sandboxes/daemon-client.ts'
import type { SessionFeed } from './sessions/conversation/feed.ts'
import type { SessionWithSandbox } from './sessions/store.ts'
import type { Span, Tracing } from './tracing/tracing.ts'
import type { SaveOutcome } from './sessions/unfinished-work/save-outcome.ts'

/** Everything a request or a job may use, made once by main.ts or by a test. Functions take the part they use. */
export interface Deps {
  config: Config
  db: Db
  locks: pg.Pool
  localLocks: LocalLocks
  keyring: Keyring
  /** Knows every secret this process has opened and removes it from what is stored, shown and logged. */
  redaction: Redaction
  sandboxes: SandboxDriver | null
  /** Whether everything that acts waits, after a restore. */
  hold: Hold
  /** Whether the disk has space for new work. */
  disk: DiskWatch
  egress: EgressGate
  metrics: Metrics
  /** Spans for the collector of the operator. */
  tracing: Tracing
  feed: SessionFeed
  /** Wakes readers of project events. */
  events: EventNotifier
  warm: WarmSandboxes
  sessions: SessionRunner
  apps: Deployer
  checks: CheckRunner
  replicas: RepositoryReplicas
  /** Unix socket on which this server answers the requests of sandboxes. */
  relaySocket: string
  /** Identifies this run of the server. */
  instanceId: string
  /** The name of this server, which stays: the home of the projects that it makes. */
  serverName: string
  /** The same while other servers share the database, so that jobs leave projects of another home alone. Null: alone. */
  home: string | null
  /** How this server recognizes others. Null: alone. */
  peerTls: PeerTls | null
  /** Holds writes to projects that leave this server. */
  homeGate: HomeGate
  /** Decides when other servers count as dead. */
  heartbeat: Heartbeat
  /** How loaded this machine is. */
  pressure: () => Pressure
  now: () => Date
  newId: () => string
  randomBytes: (count: number) => Uint8Array
  log: Logger
  /** Called when a route answers with an error code that its API document does not list. */
  undeclaredError: (route: string, code: ErrorCode) => void
}

/**
 * The reconcilers and the pool of warm sandboxes, as the rest of the server sees them. They take `Deps` themselves:
 * an interface here is what keeps every file that names `Deps` out of one circle of imports.
 * Implemented by sessions/lifecycle/reconciler.ts, sessions/warm/pool.ts, apps/reconciler.ts and checks/reconciler.ts.
 */
export interface SessionRunner {
  /** The server stops, and begins to run no further sandbox. */
  readonly isClosed: boolean
  /** Reconciles a session in the background. */
  enqueue(sessionId: string): void
  reconcile(sessionId: string): Promise<void>
  interrupt(sessionId: string): void
  /** The start fails for this reason. It is tried again if the reason passes by itself. False when none is under way. */
  abortStart(sessionId: string, why: Error): boolean
  /**
   * The session starts with a warm sandbox, once its branch was cut at this commit; null: it never was. Call before the row
   * is there.
   */
  expectClaim(sessionId: string, commit: Promise<string | null>): void
  turnOf(sessionId: string): 'busy' | 'idle'
  /** Null when this server does not run the session's sandbox, as with `followerOf` and `wipOf`. */
  daemonOf(sessionId: string): DaemonAddress | null
  followerOf(sessionId: string):
    | {
        /** `current` is the span of the running turn. */
        span: { readonly current: Span | null }
        /** Resolves once what happened while no server followed is known. */
        readonly caughtUp: { promise: Promise<void> }
        storeNow(): Promise<void>
        runtimeRestarted(): Promise<void>
        promptCancelled(prompt: { prompt_id: string }, reason: string): void
      }
    | undefined
  wipOf(sessionId: string): {
    saveNow(limitMs?: number): Promise<SaveOutcome>
    saveSoon(): void
    whyStale(limitMs: number): Promise<string | null>
    saveBeforeEnd(ifSilent?: string | null): Promise<string | null>
  } | null
  /** Sessions whose sandbox this server runs, or starts at this moment. One whose sandbox is gone is reconciled. */
  inHand(): Promise<string[]>
  /** `listener` gets the project of each session whose sandbox this server has begun to run, or to run again. */
  onAttached(listener: (projectId: string) => void): void
  deliverPrompts(sessionId: string): Promise<void>
  cancelPrompts(sessionId: string): Promise<void>
  deliverAnswers(sessionId: string): Promise<void>
  endOrphans(): Promise<void>
  takeOver(session: SessionWithSandbox): Promise<void>
  /**
   * Ends the sandbox of a live session, with its last save, and leaves its next start to the home of its project. `reason` is
   * for people; a move of the project by default.
   */
  moveAway(sessionId: string, reason?: string): Promise<void>
  /** Resolves with the number of sessions that go on without this server. */
  close(how: { endsSandboxes: boolean }): Promise<number>
}

/** The copies that this server keeps on others of the projects at home here. Implemented by projects/replicas/replicas.ts. */
export interface RepositoryReplicas {
  readonly mode: ReplicaMode
  /**
   * Resolves once the copy of the project has these commits with their history, with the name of its server. Null: no
   * copy is waited for. Throws `unavailable` when one has to be and no server takes it in time.
   */
  send(project: CopiedProject, store: CopiedStore, commits: string[], how?: HowToSend): Promise<string | null>
  /** These changes are acknowledged, with what `send` resolved with. */
  recorded(
    project: CopiedProject,
    store: CopiedStore,
    changes: { ref: string; new: string | null }[],
    replica: string | null,
  ): void
  /** What is known of the copy may be wrong. */
  forget(projectId: string): void
  /**
   * Branches and tags that moved here without a record, as when the database or this server ended in the middle of a push,
   * with their recorded values. Empty once `allRecorded` was called, until `unrecorded`.
   */
  missing(
    project: CopiedProject,
    store: CopiedStore,
    how?: Pick<HowToSend, 'onWait'>,
  ): Promise<{ ref: string; old: string | null }[]>
  allRecorded(project: CopiedProject): void
  /** A ref may have moved that could not be recorded. */
  unrecorded(projectId: string): void
  /** A job: makes the copies that are missing, and sends what they lack. */
  tend(signal: AbortSignal): Promise<'again' | null>
}

export interface HowToSend {
  waitMs?: number
  /** When the change began to wait, for its turn too, by `performance.now()`. Now by default. */
  since?: number
  /** Gets the reason when the change has to wait for the copy, and again with each attempt that fails. */
  onWait?: (reason: string) => void
  /** The new commits among the given ones, and the files with all that they need beside what the copy has. Null: unknown. */
  files?: { commits: string[]; read: (has: string[]) => Promise<StoreFile[] | null> }
}

type CopiedProject = Pick<Row<'projects'>, 'project_id' | 'home_epoch'>
type CopiedStore = Pick<Repository, 'dir' | 'group'>

export interface WarmSandboxes {
  readonly isOn: boolean
  /** Returns in how many milliseconds it has to look again; `again`: as soon as the job runs. */
  tend(signal: AbortSignal): Promise<number | 'again' | null>
  startBegins(): void
  startEnds(): void
  isNeeded(): void
  dropProject(projectId: string): Promise<void>
  close(how: { endsSandboxes: boolean }): Promise<void>
}

export interface Deployer {
  serving(projectId: string, slug: string): Serving | null
  enqueue(): void
  reconcile(): Promise<void>
  /** Releases the project's apps, which start again at its home. Open requests may end first. */
  moveAway(projectId: string): Promise<void>
  /** Resolves with the number of apps that go on without this server. */
  close(how: { endsSandboxes: boolean }): Promise<number>
}

export interface CheckRunner {
  reconcile(): Promise<void>
  /** Ends the running checks of the project, which run again at its home. */
  moveAway(projectId: string): Promise<void>
  /** Resolves with the number of checks that go on without this server. */
  close(how: { endsSandboxes: boolean }): Promise<number>
}
