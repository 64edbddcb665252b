/** Whether data may be deleted for its age: not when the clock is far from when a server last ran. */
import type { Deps } from '../deps.ts'
import { keepDeletedUntil } from '../projects/store.ts'
import { type DeletionTime, noteTime } from './deletion-clock-store.ts'

const noteEveryMs = 60_000

export class DeletionClock {
  readonly #deps: Pick<Deps, 'db' | 'log'>
  #noted: { at: number; time: DeletionTime } | null = null

  constructor(deps: Pick<Deps, 'db' | 'log'>) {
    this.#deps = deps
  }

  /** Until when nothing is deleted for its age. Null: now it may be. */
  async waitsUntil(): Promise<Date | null> {
    const { waits_until } = (await this.#time()).time
    const until = waits_until === null ? 0 : Date.parse(waits_until)
    return until > Date.now() ? new Date(until) : null
  }

  /** A job that deletes for age. */
  unlessWaiting(run: (signal: AbortSignal) => Promise<void>): (signal: AbortSignal) => Promise<void> {
    return async (signal) => {
      if ((await this.waitsUntil()) === null) await run(signal)
    }
  }

  async #time(): Promise<{ at: number; time: DeletionTime }> {
    const now = Date.now()
    // Also when this machine's clock was set back.
    if (this.#noted !== null && Math.abs(now - this.#noted.at) < noteEveryMs) return this.#noted
    const { has_jumped, ...time } = await this.#deps.db.transaction().execute(async (trx) => {
      const noted = await noteTime(trx)
      if (noted.has_jumped) await keepDeletedUntil(trx, noted.waits_until!)
      return noted
    })
    if (has_jumped)
      this.#deps.log.warn(
        { last_ran_at: time.jumped_from, waits_until: time.waits_until },
        'the clock is more than a week from when a server last ran; nothing is deleted for its age for a day',
      )
    return (this.#noted = { at: now, time })
  }
}
