import { ServiceError } from '@svc/contract'
import { LRUCache } from 'lru-cache'

/** Limits the calls per minute of a session with a token bucket. A looping runtime is slowed down and learns when to retry. */
export class CallRate {
  readonly #perMinute: number
  readonly #left = new LRUCache<string, { calls: number; at: number }>({ max: 10_000 })

  constructor(perMinute: number) {
    this.#perMinute = perMinute
  }

  take(sessionId: string, now: number): void {
    const before = this.#left.get(sessionId) ?? { calls: this.#perMinute, at: now }
    const calls = Math.min(this.#perMinute, before.calls + ((now - before.at) / 60_000) * this.#perMinute)
    if (calls < 1) {
      const seconds = Math.ceil(((1 - calls) * 60) / this.#perMinute)
      throw new ServiceError('limit_reached', `This session exceeds ${this.#perMinute} model calls per minute.`, {
        hint: `Wait ${seconds} s.`,
        detail: { retry_after_seconds: seconds },
      })
    }
    this.#left.set(sessionId, { calls: calls - 1, at: now })
  }
}
