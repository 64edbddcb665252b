import { pause } from '../pause.ts'

/** The projects whose rows changed since a job last ran, or `all` when that is not known. */
export type Changed = ReadonlySet<string> | 'all'

/** More projects than this are read together. */
const keysMax = 500

/** Collects what changed while its job runs or sleeps. */
export class Inbox {
  #changed: Changed = new Set()
  #bell: AbortController | null = null

  put(changed: Changed): void {
    const all = changed === 'all' || this.#changed === 'all' ? null : new Set([...this.#changed, ...changed])
    this.#changed = all === null || all.size > keysMax ? 'all' : all
    this.#bell?.abort()
  }

  get isEmpty(): boolean {
    return this.#changed !== 'all' && this.#changed.size === 0
  }

  take(): Changed {
    const changed = this.#changed
    this.#changed = new Set()
    return changed
  }

  /** Resolves when something is put in, after `ms`, or when the signal aborts. */
  async wait(ms: number, signal: AbortSignal): Promise<void> {
    if (!this.isEmpty || ms <= 0) return
    this.#bell = new AbortController()
    await pause(ms, AbortSignal.any([signal, this.#bell.signal]))
    this.#bell = null
  }
}
