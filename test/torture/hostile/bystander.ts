/**
 * Measures how long a reader of another project waits. It runs in its own process: this one reads responses of many megabytes
 * and scans /proc, which would look like server time.
 */
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { Readable } from 'node:stream'
import type { Server } from './visit.ts'
import { ignoreEnded } from '../../ignored.ts'

export interface Read {
  /** In milliseconds since 1970, with fractions. */
  beganAt: number
  ms: number
  failure: string | null
}

export function nowMs(): number {
  return performance.timeOrigin + performance.now()
}

export class Bystander {
  readonly #reads: Read[] = []
  readonly #busy: { from: number; to: number }[] = []
  readonly #child: Bun.Subprocess<'ignore', 'pipe', 'inherit'>
  #heard = Promise.withResolvers<void>()

  constructor(of: { server: Server; path: string }) {
    this.#child = Bun.spawn([process.execPath, join(import.meta.dir, 'bystander-reads.ts'), of.server.url + of.path], {
      env: { PATH: process.env.PATH ?? '', BYSTANDER_TOKEN: of.server.token },
      stdin: 'ignore',
      stdout: 'pipe',
      stderr: 'inherit',
    })
    const lines = createInterface({ input: Readable.fromWeb(this.#child.stdout as never) })
    lines.on('line', (line) => {
      this.#reads.push(JSON.parse(line) as Read)
      this.#heard.resolve()
      this.#heard = Promise.withResolvers()
    })
  }

  /** The reads that started and ended while `work` ran. */
  async during<T>(work: () => Promise<T>): Promise<{ done: T; reads: Read[] }> {
    const busy = { from: nowMs(), to: Number.POSITIVE_INFINITY }
    this.#busy.push(busy)
    try {
      const done = await work()
      busy.to = nowMs()
      await this.#heardOf(busy.to)
      return { done, reads: this.#reads.filter((read) => isWithin(read, busy)) }
    } finally {
      busy.to = Math.min(busy.to, nowMs())
    }
  }

  /** Prefetched in such moments, while nothing else ran. */
  get quietMs(): number[] {
    const isQuiet = ({ beganAt, ms }: Read) => this.#busy.every(({ from, to }) => beganAt + ms < from || beganAt > to)
    return this.#reads.filter(isQuiet).map(({ ms }) => ms)
  }

  get duringMs(): number[] {
    return this.#reads.filter((read) => this.#busy.some((busy) => isWithin(read, busy))).map(({ ms }) => ms)
  }

  get failures(): string[] {
    return this.#reads.flatMap(({ failure }) => (failure === null ? [] : [failure]))
  }

  /** Waits for a report of a read that started then or later. */
  async #heardOf(time: number): Promise<void> {
    const ended = this.#child.exited.then(() => Promise.reject(new Error('The bystander ended.')))
    ended.catch(ignoreEnded)
    while ((this.#reads.at(-1)?.beganAt ?? 0) < time) await Promise.race([this.#heard.promise, ended])
  }

  async stop(): Promise<void> {
    this.#child.kill('SIGKILL')
    await this.#child.exited
  }
}

function isWithin({ beganAt, ms }: Read, { from, to }: { from: number; to: number }): boolean {
  return beganAt >= from && beganAt + ms <= to
}

export function percentile(numbers: number[], part: number): number {
  const sorted = numbers.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0
}
