/** The measurements of this process for `GET /metrics`. Labels never name a project, a person or a secret. */
import { laneLoads } from '@svc/git'
import type pg from 'pg'
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client'
import type { BootQueue } from '../sandboxes/boot-queue.ts'

/** Seconds. Most answers take milliseconds; a push or a merge may take a minute. */
const requestBuckets = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60]

/**
 * How often the lag of the event loop is measured. Each time wakes the process, and the library's 10 ms cost an idle
 * server most of its processor time.
 */
const lagEveryMs = 1_000

/**
 * How a request ended that another server should answer. `absent`: that server does not run. `clock`: it refused the
 * clock of this one. `left`: the client left before an answer.
 */
export type Forwarding = 'answered' | 'upgraded' | 'moved' | 'clock' | 'unreachable' | 'absent' | 'left'

export class Metrics {
  readonly registry = new Registry()
  readonly #requests = new Histogram({
    name: 'svc_http_request_duration_seconds',
    help: 'Time until the response started, by method, route pattern and status.',
    labelNames: ['method', 'route', 'status'],
    buckets: requestBuckets,
    registers: [this.registry],
  })
  readonly #forwarded = new Counter({
    name: 'svc_forwarded_requests_total',
    help: 'Requests for the home of their project on another server, by that server and outcome (answered, upgraded, moved, clock, unreachable, absent, left).',
    labelNames: ['server', 'outcome'],
    registers: [this.registry],
  })
  readonly #forwardedSeconds = new Histogram({
    name: 'svc_forwarded_request_duration_seconds',
    help: 'Time until another server began to answer a request that this one forwarded.',
    labelNames: ['server'],
    buckets: requestBuckets,
    registers: [this.registry],
  })
  // A label `job` would be renamed: Prometheus stores the name of its scrape job there.
  readonly #jobRuns = new Counter({
    name: 'svc_job_runs_total',
    help: 'Runs of background jobs by outcome (success, failure).',
    labelNames: ['task', 'outcome'],
    registers: [this.registry],
  })
  readonly #jobSeconds = new Counter({
    name: 'svc_job_seconds_total',
    help: 'Duration of background job runs.',
    labelNames: ['task'],
    registers: [this.registry],
  })
  readonly #jobSuccess = new Gauge({
    name: 'svc_job_last_success_timestamp_seconds',
    help: 'When a background job last succeeded, and until its first success, when its first run began.',
    labelNames: ['task'],
    registers: [this.registry],
  })
  readonly #begunJobs = new Set<string>()

  /** The boot queues of this process, by purpose. */
  readonly boots = new Map<string, BootQueue>()

  constructor() {
    this.gauge('svc_sandbox_boots', 'Sandboxes that boot or wait to boot, by purpose.', ['for', 'state'], () =>
      [...this.boots].flatMap(([purpose, queue]): [Record<string, string>, number][] => {
        const { booting, waiting } = queue.load()
        return [
          [{ for: purpose, state: 'booting' }, booting],
          [{ for: purpose, state: 'waiting' }, waiting],
        ]
      }),
    )
    this.gauge('svc_git_processes', 'Git processes that run or wait to run, by lane.', ['lane', 'state'], () =>
      laneLoads().flatMap(({ lane, running, waiting }) => [
        [{ lane, state: 'running' }, running],
        [{ lane, state: 'waiting' }, waiting],
      ]),
    )
  }

  request(labels: { method: string; route: string; status: number }, seconds: number): void {
    this.#requests.observe(labels, seconds)
  }

  forwarded(server: string, outcome: Forwarding): void {
    this.#forwarded.inc({ server, outcome })
  }

  forwardedAnswer(server: string, seconds: number): void {
    this.forwarded(server, 'answered')
    this.#forwardedSeconds.observe({ server }, seconds)
  }

  /** A job that hangs in its first run has a series, too, so that alerts see it. */
  jobBegins(task: string): void {
    if (this.#begunJobs.has(task)) return
    this.#begunJobs.add(task)
    this.#jobSuccess.setToCurrentTime({ task })
  }

  jobRun(task: string, outcome: 'success' | 'failure', seconds: number): void {
    // An outcome that has not occurred is 0: Prometheus counts no increase from an absent series.
    for (const each of ['success', 'failure']) this.#jobRuns.inc({ task, outcome: each }, each === outcome ? 1 : 0)
    this.#jobSeconds.inc({ task }, seconds)
    if (outcome === 'success') this.#jobSuccess.setToCurrentTime({ task })
  }

  /** `read` runs at each scrape. */
  gauge(name: string, help: string, labelNames: string[], read: () => [Record<string, string>, number][]): void {
    this.registry.registerMetric(
      new Gauge({
        name,
        help,
        labelNames,
        registers: [],
        collect() {
          this.reset()
          // The reset of a gauge without labels sets 0, and one that has no value is absent.
          if (labelNames.length === 0) this.remove()
          for (const [labels, value] of read()) this.set(labels, value)
        },
      }),
    )
  }

  /** Connections of this process to the database. Requests that wait for one mean that the pool is too small or the database too slow. */
  watchPools(pools: Record<string, pg.Pool>): void {
    this.gauge('svc_database_connections', 'Connections to the database, by pool.', ['pool', 'state'], () =>
      Object.entries(pools).flatMap(([pool, { totalCount, idleCount, waitingCount }]) => [
        [{ pool, state: 'busy' }, totalCount - idleCount],
        [{ pool, state: 'idle' }, idleCount],
        [{ pool, state: 'waiting' }, waitingCount],
      ]),
    )
  }

  watchListener(listener: { load(): { connections: number; streams: number; refused: number } }): void {
    this.gauge(
      'svc_http_connections',
      'Open connections and, among them, event streams and WebSockets.',
      ['kind'],
      () => {
        const { connections, streams } = listener.load()
        return [
          [{ kind: 'all' }, connections],
          [{ kind: 'stream' }, streams],
        ]
      },
    )
    const refused = () => listener.load().refused
    this.registry.registerMetric(
      new Counter({
        name: 'svc_http_connections_refused_total',
        help: 'Connections that were ended at a limit.',
        registers: [],
        collect() {
          this.reset()
          this.inc(refused())
        },
      }),
    )
  }

  /** CPU, memory, open files and event loop lag. Call once per process. */
  watchProcess(): void {
    collectDefaultMetrics({ register: this.registry, eventLoopMonitoringPrecision: lagEveryMs })
    // Bun counts none of them, and their names are those of counters, which they are not.
    for (const kind of ['handles', 'requests', 'resources'])
      for (const name of [`nodejs_active_${kind}`, `nodejs_active_${kind}_total`])
        this.registry.removeSingleMetric(name)
  }
}
