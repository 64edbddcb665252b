import { LRUCache } from 'lru-cache'
import { untilDeadline } from '../process/deadline.ts'
import { GitError } from '../process/git.ts'
import type { CallOptions } from '../repository.ts'

/** Content crafted to exceed a process's limits would do so again on each request or poll. */
const tooCostlyMs = 60_000

/**
 * Results that depend only on their key: cached up to a number of bytes, and computed once for concurrent callers. A
 * caller that gives up leaves the work to the others; the work has its own limits. Reaching a limit is a result too,
 * cached for a minute.
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
    return untilDeadline(running, options)
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
