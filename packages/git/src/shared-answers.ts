import { LRUCache } from 'lru-cache'
import { GitError } from './git.ts'
import type { CallOptions } from './repository.ts'

/** Content that was made to cost more than a child may use would cost it again at each look of a page or a job. */
const tooCostlyMs = 60_000

/**
 * Answers that are pure in their key: kept up to a number of bytes, and worked out once however many ask at the same
 * time. An asker that gives up leaves the work to the others; the work has limits of its own. That it reached one of
 * them is an answer, too, for a minute.
 */
export class SharedAnswers<V extends object> {
  readonly #kept: LRUCache<string, V>
  readonly #tooCostly = new LRUCache<string, GitError>({ max: 1_000, ttl: tooCostlyMs })
  readonly #running = new Map<string, Promise<V>>()

  constructor(bytesMax: number, bytesOf: (answer: V) => number) {
    this.#kept = new LRUCache({ maxSize: bytesMax, sizeCalculation: (answer) => Math.max(1, bytesOf(answer)) })
  }

  async get(key: string, options: CallOptions, work: () => Promise<V>): Promise<V> {
    options.signal?.throwIfAborted()
    const kept = this.#kept.get(key)
    if (kept) return kept
    const tooCostly = this.#tooCostly.get(key)
    if (tooCostly) throw tooCostly
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
    } catch (error) {
      if (error instanceof GitError && ['limit', 'output'].includes(error.failure)) this.#tooCostly.set(key, error)
      throw error
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
