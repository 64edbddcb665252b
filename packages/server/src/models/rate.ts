import { ServiceError } from '@svc/contract'

/** As many calls a minute as one session may make, evenly: a runtime that repeats itself is slowed down and told for how long. */
export class CallRate {
  readonly #perMinute: number
  readonly #left = new Map<string, { calls: number; at: number }>()

  constructor(perMinute: number) {
    this.#perMinute = perMinute
  }

  take(sessionId: string, now: number): void {
    const before = this.#left.get(sessionId) ?? { calls: this.#perMinute, at: now }
    const calls = Math.min(this.#perMinute, before.calls + ((now - before.at) / 60_000) * this.#perMinute)
    if (calls < 1) {
      const seconds = Math.ceil(((1 - calls) * 60) / this.#perMinute)
      throw new ServiceError(
        'limit_reached',
        `This session asks its model more than ${this.#perMinute} times a minute.`,
        {
          hint: `Wait ${seconds} s.`,
          detail: { retry_after_seconds: seconds },
        },
      )
    }
    this.#left.delete(sessionId)
    this.#left.set(sessionId, { calls: calls - 1, at: now })
    if (this.#left.size > sessionsMax) this.#left.delete(this.#left.keys().next().value ?? '')
  }
}

const sessionsMax = 10_000
