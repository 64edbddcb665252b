import type { Logger } from 'pino'
import { isDatabaseUnavailable } from '../db/unavailable.ts'

/** The interval for repeating an unchanged failure in the log. */
const repeatMs = 60_000

/** Logs failing jobs and their recovery. Jobs run every second or so, and a database that is down for a minute would otherwise fill the log with the same line. */
export class JobTrouble {
  readonly #log: Pick<Logger, 'info' | 'warn'>
  readonly #now: () => number
  /** Per job: the last failure, since when it fails, and the failures since the last log line. */
  readonly #failing = new Map<string, { message: string; loggedAt: number; silently: number }>()
  /** Jobs without a database. One of them succeeding ends the outage for all. */
  readonly #waiting = new Set<string>()
  #awayAt = 0

  constructor(log: Pick<Logger, 'info' | 'warn'>, now: () => number = () => performance.now()) {
    this.#log = log
    this.#now = now
  }

  failed(job: string, error: unknown): void {
    if (isDatabaseUnavailable(error)) return this.#missed(job, error)
    const message = error instanceof Error ? error.message : String(error)
    const last = this.#failing.get(job)
    if (last?.message === message && this.#now() - last.loggedAt < repeatMs) {
      last.silently++
      return
    }
    const times = last?.message === message ? { times: last.silently + 1 } : {}
    this.#failing.set(job, { message, loggedAt: this.#now(), silently: 0 })
    this.#log.warn({ err: error, job, ...times }, 'a job failed; retrying')
  }

  worked(job: string): void {
    if (this.#waiting.has(job)) {
      this.#waiting.clear()
      this.#log.info({ away_ms: Math.round(this.#now() - this.#awayAt) }, 'the database is available again')
    }
    if (this.#failing.delete(job)) this.#log.info({ job }, 'a failed job succeeded')
  }

  #missed(job: string, error: unknown): void {
    if (this.#waiting.size === 0) {
      this.#awayAt = this.#now()
      this.#log.warn({ err: error, job }, 'the database is unavailable; jobs retry until it is back')
    }
    this.#waiting.add(job)
  }
}
