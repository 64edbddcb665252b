import { setImmediate as nextEventLoopTurn } from 'node:timers/promises'

/**
 * How long one piece of work may run between yields: long enough that yielding costs little, short enough that other
 * requests, which need several event loop turns each, barely wait.
 */
const turnMs = 1
/** Reading the clock costs more than most of the work between two checks. */
const looksPerClock = 64

/** Splits long work so that other requests can run: `if (yields.isDue) await yields.next()` between its parts. */
export class CooperativeYield {
  #looks = 0
  #beganAt = performance.now()

  get isDue(): boolean {
    this.#looks = (this.#looks + 1) % looksPerClock
    return this.#looks === 0 && performance.now() - this.#beganAt > turnMs
  }

  async next(): Promise<void> {
    await nextEventLoopTurn()
    this.#beganAt = performance.now()
  }
}
