/** Somebody who reads another project all the time, and how long that takes. */
import { setTimeout as delay } from 'node:timers/promises'
import type { Server } from './visit.ts'

/** Between two reads, so that the reader is no load itself and still is asked often enough for a 99th part. */
const pauseMs = 8

export class Bystander {
  isDuring = false
  readonly quietMs: number[] = []
  readonly duringMs: number[] = []
  /** When each of `duringMs` was begun. */
  readonly #beganAt: number[] = []
  readonly failures: string[] = []
  #isOver = false
  readonly #running: Promise<void>

  constructor(of: { server: Server; path: string }) {
    this.#running = this.#read(of)
  }

  /** The reads that were begun and ended while `work` went on, in milliseconds, and when each began. */
  async during<T>(work: () => Promise<T>): Promise<{ done: T; ms: number[]; beganAt: number[] }> {
    const from = this.duringMs.length
    this.isDuring = true
    try {
      const done = await work()
      return { done, ms: this.duringMs.slice(from), beganAt: this.#beganAt.slice(from) }
    } finally {
      this.isDuring = false
    }
  }

  async #read({ server, path }: { server: Server; path: string }): Promise<void> {
    while (!this.#isOver) {
      for (const route of ['', '/merge-preview', '/diff']) {
        const { isDuring } = this
        const began = performance.now()
        const response = await fetch(server.url + path + route, {
          headers: { authorization: `Bearer ${server.token}` },
        }).catch(() => null)
        await response?.arrayBuffer()
        if (isDuring === this.isDuring) {
          if (isDuring) this.#beganAt.push(began)
          const list = isDuring ? this.duringMs : this.quietMs
          list.push(performance.now() - began)
        }
        if (response?.status !== 200) this.failures.push(`${route}: ${response?.status ?? 'no answer'}`)
      }
      await delay(pauseMs)
    }
  }

  async stop(): Promise<void> {
    this.#isOver = true
    await this.#running
  }
}

export function percentile(numbers: number[], part: number): number {
  const sorted = numbers.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0
}
