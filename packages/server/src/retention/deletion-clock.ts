/** Whether data may be deleted for its age: not when the clock is far from when a server last ran. */
import type { DbOrTransaction } from '../db/schema.ts'
import type { Deps } from '../deps.ts'
import { keepDeletedUntil } from '../projects/store.ts'
import { beginWait, type DeletionTime, noteTime, readTime } from './deletion-clock-store.ts'

const noteEveryMs = 60_000
/** The clock of a server that differs from the database's by more is wrong. */
const differenceMsMax = 3_600_000

/** A restored installation begins to act: what was due by age since its backup stays for a day. */
export async function waitFromNow(db: DbOrTransaction): Promise<void> {
  await keepDeletedUntil(db, await beginWait(db))
}

/** Why nothing may be deleted for its age now. For a program beside the server, which may be stopped: notes nothing. Null: it may. */
export async function whyUnsure(db: DbOrTransaction): Promise<string | null> {
  const time = await readTime(db)
  if (time === null) return null
  if (isFarFrom(time.now)) return 'the clocks of this machine and of its database differ by more than an hour'
  if (time.is_far)
    return `the clock is more than a week from when a server last ran, at ${time.seen_at}. If it is right, this ends a day after the server runs again`
  if (time.waits_until === null || Date.parse(time.waits_until) <= Date.parse(time.now)) return null
  return `the clock was more than a week from when a server last ran, or the data were restored. This ends at ${time.waits_until}`
}

function isFarFrom(databaseNow: string): boolean {
  return Math.abs(Date.now() - Date.parse(databaseNow)) > differenceMsMax
}

interface Noted {
  at: number
  time: DeletionTime
  /** This server's clock differs from the database's. */
  isWrong: boolean
}

export class DeletionClock {
  readonly #deps: Pick<Deps, 'db' | 'log'>
  #noted: Noted | null = null

  constructor(deps: Pick<Deps, 'db' | 'log'>) {
    this.#deps = deps
  }

  /** Whether data may be deleted for its age now. */
  async isSure(): Promise<boolean> {
    const { isWrong, time } = await this.#note()
    return !isWrong && (time.waits_until === null || Date.parse(time.waits_until) <= Date.now())
  }

  /** A job that deletes for age. */
  unlessWaiting(run: (signal: AbortSignal) => Promise<void>): (signal: AbortSignal) => Promise<void> {
    return async (signal) => {
      this.#noted = null
      if (await this.isSure()) await run(signal)
    }
  }

  async #note(): Promise<Noted> {
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
    return (this.#noted = { at: now, time, isWrong: isFarFrom(time.seen_at) })
  }
}
