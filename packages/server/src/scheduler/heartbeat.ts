/** A server without a heartbeat for this long counts as dead. */
const staleSeconds = 20
/** Two missed heartbeats: the database was unavailable, or this process was paused. */
const lateMs = 10_000

/**
 * A server that could not write its own heartbeat could not read the others' either. That time does not count against
 * them: otherwise every server would take the others for dead when a database returns, and end what they run.
 */
export class Heartbeat {
  readonly #now: () => number
  #beatAt: number
  #gapMs = 0
  #gapEndedAt = Number.NEGATIVE_INFINITY

  /** `now` in milliseconds, of a monotonic clock. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now
    this.#beatAt = now()
  }

  /** Call after writing this server's heartbeat. */
  recorded(): void {
    const now = this.#now()
    const silentMs = now - this.#beatAt
    if (silentMs > lateMs) {
      this.#gapMs = silentMs + this.#recentGapMs(now)
      this.#gapEndedAt = now
    }
    this.#beatAt = now
  }

  /** The age from which a server's heartbeat means that it is dead. */
  deadAfterSeconds(): number {
    const now = this.#now()
    const silentMs = now - this.#beatAt
    const gapMs = this.#recentGapMs(now) + (silentMs > lateMs ? silentMs : 0)
    return staleSeconds + Math.ceil(gapMs / 1000)
  }

  /** After a gap the others have as long to send a heartbeat as any server has. */
  #recentGapMs(now: number): number {
    return now - this.#gapEndedAt < staleSeconds * 1000 ? this.#gapMs : 0
  }
}
