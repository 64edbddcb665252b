import { lostSecondsMax, staleSeconds } from '../db/live-instance.ts'

/** Two missed heartbeats: the database was unavailable, or this process was paused. */
const lateMs = 10_000
/** The time that servers have to take their locks again after the database was unavailable, and more. */
const returnMs = 10_000

/**
 * A server that could not write its own heartbeat could not read the others' either. That time does not count against
 * them: otherwise every server would take the others for dead when a database returns, and end what they run.
 */
export class Heartbeat {
  readonly #now: () => number
  #beatAt: number
  #gapMs = 0
  #gapEndedAt = Number.NEGATIVE_INFINITY
  #lockLostAt: number | null = null
  #lockTakenAgainAt = Number.NEGATIVE_INFINITY

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

  /** Call when this server's lock was lost. */
  lockLost(): void {
    this.#lockLostAt ??= this.#now()
  }

  /** Call when this server has taken its lock. */
  lockTaken(): void {
    if (this.#lockLostAt !== null) this.#lockTakenAgainAt = this.#now()
    this.#lockLostAt = null
  }

  /** Whether this server may claim work. Without its lock, others take it for dead and take over what it claims. */
  mayClaim(): boolean {
    return this.#lockLostAt === null || this.#now() - this.#lockLostAt < lostSecondsMax * 1000
  }

  /** Whether a free lock of another server shows that it is dead. */
  mayJudge(): boolean {
    return this.#lockLostAt === null && this.#now() - this.#lockTakenAgainAt > returnMs
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
