import { LRUCache } from 'lru-cache'
import type { CallOptions } from './repository.ts'

/**
 * Answers that are pure in their key: kept up to a number of bytes, and worked out once however many ask at the same
 * time. An asker that gives up leaves the work to the others; the work has limits of its own.
 */
export class SharedAnswers<V extends object> {
  readonly #kept: LRUCache<string, V>
  readonly #running = new Map<string, Promise<V>>()

  constructor(bytesMax: number, bytesOf: (answer: V) => number) {
    this.#kept = new LRUCache({ maxSize: bytesMax, sizeCalculation: (answer) => Math.max(1, bytesOf(answer)) })
  }

  async get(key: string, options: CallOptions, work: () => Promise<V>): Promise<V> {
    options.signal?.throwIfAborted()
    const kept = this.#kept.get(key)
    if (kept) return kept
    let running = this.#running.get(key)
    if (!running) {
      running = this.#start(key, work)
      this.#running.set(key, running)
    }
    return untilAborted(running, options.signal)
  }

  async #start(key: string, work: () => Promise<V>): Promise<V> {
    try {
      const answer = await work()
      this.#kept.set(key, answer)
      return answer
    } finally {
      this.#running.delete(key)
    }
  }
}

function untilAborted<V>(answer: Promise<V>, signal?: AbortSignal): Promise<V> {
  if (!signal) return answer
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason as Error)
    signal.addEventListener('abort', abort, { once: true })
    answer.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort))
  })
}
