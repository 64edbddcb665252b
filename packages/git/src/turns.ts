import { setImmediate as othersHadTheirs } from 'node:timers/promises'

/**
 * Long enough that waiting costs little beside it, and short enough for others: a request of theirs has half a dozen
 * turns, and waits for one of these in each.
 */
const turnMs = 1
/** Looking at the clock costs more than most of what is done between two looks. */
const looksPerClock = 64

/** Work that may be long, done in turns with everybody else's: `if (turns.isOver) await turns.next()` between its parts. */
export class Turns {
  #looks = 0
  #beganAt = performance.now()

  get isOver(): boolean {
    this.#looks = (this.#looks + 1) % looksPerClock
    return this.#looks === 0 && performance.now() - this.#beganAt > turnMs
  }

  async next(): Promise<void> {
    await othersHadTheirs()
    this.#beganAt = performance.now()
  }
}
