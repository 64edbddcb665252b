/** From when on a server counts as dead that is not heard of. */
const staleSeconds = 20
/** Two beats missed: the database was away, or this process stood still. */
const lateMs = 10_000

/**
 * Who could not write its own heartbeat for a while cannot have read those of the others either. That time is not held
 * against them, or each would take the others for dead when a database comes back, and end what they run.
 */
export class Pulse {
  readonly #now: () => number
  #beatAt: number
  #gapMs = 0
  #gapEndedAt = Number.NEGATIVE_INFINITY

  /** `now` in milliseconds, of a clock that only goes forward. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now
    this.#beatAt = now()
  }

  /** The heartbeat of this server was written. */
  beaten(): void {
    const now = this.#now()
    const silentMs = now - this.#beatAt
    if (silentMs > lateMs) {
      this.#gapMs = silentMs + this.#recentGapMs(now)
      this.#gapEndedAt = now
    }
    this.#beatAt = now
  }

  /** How old the heartbeat of a server has to be for it to be dead. */
  deadAfterSeconds(): number {
    const now = this.#now()
    const silentMs = now - this.#beatAt
    const gapMs = this.#recentGapMs(now) + (silentMs > lateMs ? silentMs : 0)
    return staleSeconds + Math.ceil(gapMs / 1000)
  }

  /** The others have as long to be heard of again as any server has. */
  #recentGapMs(now: number): number {
    return now - this.#gapEndedAt < staleSeconds * 1000 ? this.#gapMs : 0
  }
}
