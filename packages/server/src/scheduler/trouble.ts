import type { Logger } from 'pino'
import { isDatabaseAway } from '../db/away.ts'

/** What goes on failing in the same way is said again this much later. */
const saidAgainMs = 60_000

/**
 * Tells the log what goes wrong with the jobs, and when it is over. Each runs every second or so: a database that is away
 * for a minute would else fill the log with a thousand times the same.
 */
export class JobTrouble {
  readonly #log: Pick<Logger, 'info' | 'warn'>
  readonly #now: () => number
  /** What each job failed with last, since when it does, and how often since it was said. */
  readonly #failing = new Map<string, { message: string; saidAt: number; silently: number }>()
  /** Jobs that found no database. One of them finding it again is enough. */
  readonly #waiting = new Set<string>()
  #awayAt = 0

  constructor(log: Pick<Logger, 'info' | 'warn'>, now: () => number = () => performance.now()) {
    this.#log = log
    this.#now = now
  }

  failed(job: string, error: unknown): void {
    if (isDatabaseAway(error)) return this.#missed(job, error)
    const message = error instanceof Error ? error.message : String(error)
    const last = this.#failing.get(job)
    if (last?.message === message && this.#now() - last.saidAt < saidAgainMs) {
      last.silently++
      return
    }
    const times = last?.message === message ? { times: last.silently + 1 } : {}
    this.#failing.set(job, { message, saidAt: this.#now(), silently: 0 })
    this.#log.warn({ err: error, job, ...times }, 'a job failed; it runs again')
  }

  worked(job: string): void {
    if (this.#waiting.has(job)) {
      this.#waiting.clear()
      this.#log.info({ away_ms: Math.round(this.#now() - this.#awayAt) }, 'the database answers again')
    }
    if (this.#failing.delete(job)) this.#log.info({ job }, 'a job that failed works again')
  }

  #missed(job: string, error: unknown): void {
    if (this.#waiting.size === 0) {
      this.#awayAt = this.#now()
      this.#log.warn({ err: error, job }, 'the database does not answer; the jobs try again until it does')
    }
    this.#waiting.add(job)
  }
}
