/** Limits concurrent bodies past 1 MiB. Each costs many times its size while it is read, decoded and stored. */
import { ServiceError } from '@svc/contract'
import pLimit, { type LimitFunction } from 'p-limit'
import { withDeadline } from '../../deadline.ts'

interface Limits {
  atOnce: number
  /** Keeps one user, who may send slowly, from taking every place. */
  perUser: number
  waitMsMax: number
}

export interface BodyPlace extends Disposable {
  /** Waits for a place, which is held until this is disposed. Throws when the wait takes too long. */
  take(): Promise<void>
}

export class LargeBodies {
  readonly #limits: Limits
  readonly #all: LimitFunction
  readonly #ofUsers = new Map<string, LimitFunction>()

  constructor(limits: Limits = { atOnce: 4, perUser: 2, waitMsMax: 30_000 }) {
    this.#limits = limits
    this.#all = pLimit(limits.atOnce)
  }

  placeOf(userId: string): BodyPlace {
    const free = Promise.withResolvers<void>()
    return {
      take: () => this.#take(userId, free.promise),
      [Symbol.dispose]: free.resolve,
    }
  }

  async #take(userId: string, free: Promise<void>): Promise<void> {
    const own = this.#ofUsers.get(userId) ?? pLimit(this.#limits.perUser)
    this.#ofUsers.set(userId, own)
    const begun = Promise.withResolvers<void>()
    const hold = () => {
      begun.resolve()
      return free
    }
    const held = own(() => this.#all(hold)).finally(() => {
      if (own.activeCount === 0 && own.pendingCount === 0) this.#ofUsers.delete(userId)
    })
    // A refused request disposes of its place, which then passes to the next one at once.
    await withDeadline(Promise.race([begun.promise, held]), this.#limits.waitMsMax, () => {
      throw tooMany()
    })
  }
}

function tooMany(): ServiceError {
  return new ServiceError('unavailable', 'This server is busy with other large requests.', {
    hint: 'Nothing was changed. Try again in a moment.',
    detail: { retry_after_seconds: 10 },
  })
}
