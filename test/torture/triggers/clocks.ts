/** The clocks of several servers: one adjustable time, and the error of each server's clock. */
import { renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const writeEveryMs = 100
/** A server's clock runs by itself between two writes. */
const slackMs = 2_000

export class Clocks {
  readonly #dir: string
  readonly #skewsMs: number[]
  readonly #timer: NodeJS.Timeout
  #shown: number
  #at = performance.now()
  #highest: number
  /** Their milliseconds in one of ours. */
  rate = 1

  constructor(dir: string, start: number, skewsMs: number[]) {
    this.#dir = dir
    this.#shown = start
    this.#highest = start
    this.#skewsMs = skewsMs
    this.#write()
    this.#timer = setInterval(() => this.#write(), writeEveryMs)
  }

  file(index: number): string {
    return join(this.#dir, `clock-${index}`)
  }

  get now(): number {
    return this.#shown
  }

  /** No clock shows an earlier time now. */
  get lowest(): number {
    return this.#shown + Math.min(...this.#skewsMs) - slackMs
  }

  get highestNow(): number {
    return this.#shown + Math.max(...this.#skewsMs) + slackMs
  }

  /** No clock ever showed a later time. */
  get highest(): number {
    return this.#highest + slackMs
  }

  leap(ms: number): void {
    this.#write()
    this.#shown += ms
    this.#write()
  }

  stop(): void {
    clearInterval(this.#timer)
  }

  #write(): void {
    const at = performance.now()
    this.#shown += (at - this.#at) * this.rate
    this.#at = at
    for (const [index, skewMs] of this.#skewsMs.entries()) {
      const fresh = `${this.file(index)}.new`
      writeFileSync(fresh, String(Math.round(this.#shown + skewMs - Date.now())))
      renameSync(fresh, this.file(index))
    }
    this.#highest = Math.max(this.#highest, this.#shown + Math.max(...this.#skewsMs))
  }
}
