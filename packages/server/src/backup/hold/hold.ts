/** Whether this installation is held after a restore. It can be lifted while the server runs, and never begins then. */
import type { Logger } from 'pino'
import type { Db } from '../../db/schema.ts'
import { pause } from '../../pause.ts'
import { type Held, readHeld } from './store.ts'

const lookEveryMs = 500

export class Hold {
  #held: Held | null

  private constructor(held: Held | null) {
    this.#held = held
  }

  static async read(db: Db): Promise<Hold> {
    return new Hold(await readHeld(db))
  }

  /** For tests and servers without a database of their own. */
  static none(): Hold {
    return new Hold(null)
  }

  get held(): Held | null {
    return this.#held
  }

  /** Resolves at once when nothing is held. False: the server stops first. */
  async lifted({ db, log }: { db: Db; log: Logger }, signal: AbortSignal): Promise<boolean> {
    while (this.#held !== null) {
      if (signal.aborted) return false
      await pause(lookEveryMs, signal)
      try {
        this.#held = await readHeld(db)
      } catch (error) {
        log.warn({ err: error }, 'failed to read whether the server is held; retrying')
      }
    }
    return !signal.aborted
  }
}
