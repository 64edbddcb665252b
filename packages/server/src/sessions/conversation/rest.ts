/** While the runtime of a sandbox sleeps it has no events, and an open connection would wake the daemon every second. */
import { withDeadline } from '../../deadline.ts'
import type { Deps } from '../../deps.ts'

/** A use of the runtime goes on without the event stream after this time. It then reads the history. */
const streamMsMax = 5_000

export interface Wake {
  startedAt: Date
  ms: number
}

/** `since`: null once the runtime is awake. `wake`: how long that took, when this server woke it. */
export type SleepListener = (since: Date | null, wake: Wake | null) => void

/** Closes the event stream of a follower while the runtime sleeps. */
export class Rest {
  readonly #now: Deps['now']
  readonly #changed: SleepListener
  #isAsleep = false
  #wakeBegan: { at: Date; ms: number } | null = null
  #stream = new AbortController()
  /** The stream is closed. */
  #closed: { since: number; over: PromiseWithResolvers<void> } | null = null
  /** The stream after a rest. */
  #opening: PromiseWithResolvers<void> | null = null

  constructor({ now }: Pick<Deps, 'now'>, changed: SleepListener) {
    this.#now = now
    this.#changed = changed
  }

  /** A stream would wake the runtime. `isNeeded`: a turn runs, so the stream opens all the same. */
  beginAsleep({ isNeeded }: { isNeeded: boolean }): void {
    this.#isAsleep = true
    if (!isNeeded) this.#close()
  }

  /** Null while no stream may be open. */
  get over(): Promise<void> | null {
    return this.#closed?.over.promise ?? null
  }

  /** A use of the runtime waits for the stream. */
  get isEnding(): boolean {
    return this.#opening !== null
  }

  /** The runtime has slept for so long; null when it is awake. */
  seen(asleepMs: number | null, { isNeeded }: { isNeeded: boolean }): void {
    if (asleepMs === null) {
      this.awoke()
      this.end()
    } else if (this.#closed !== null) {
      // It was awake in between.
      if (performance.now() - asleepMs > this.#closed.since) this.end()
    } else if (!isNeeded && !this.isEnding) {
      // A runtime that starts for a use still counts as asleep.
      this.#close()
      if (!this.#isAsleep) this.#changed(new Date(this.#now().getTime() - asleepMs), null)
      this.#isAsleep = true
    }
  }

  #close(): void {
    this.#closed = { since: performance.now(), over: Promise.withResolvers() }
    this.#stream.abort()
  }

  end(): void {
    if (this.#closed === null) return
    this.#opening = Promise.withResolvers()
    this.#closed.over.resolve()
    this.#closed = null
  }

  /** Resolves when the event stream is open again, so that no event of what wakes the runtime is missed. */
  async use(): Promise<void> {
    if (this.#isAsleep) this.#wakeBegan ??= { at: this.#now(), ms: performance.now() }
    this.end()
    if (this.#opening !== null) await withDeadline(this.#opening.promise, streamMsMax, () => {})
  }

  /** The signal that closes the next stream. */
  opens(): AbortSignal {
    this.#stream = new AbortController()
    return this.#stream.signal
  }

  opened(): void {
    this.#opening?.resolve()
    this.#opening = null
    this.awoke()
  }

  /** The runtime answered. */
  awoke(): void {
    const began = this.#wakeBegan
    this.#wakeBegan = null
    if (!this.#isAsleep) return
    this.#isAsleep = false
    this.#changed(null, began === null ? null : { startedAt: began.at, ms: performance.now() - began.ms })
  }
}
