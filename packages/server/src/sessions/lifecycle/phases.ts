import type { Deps } from '../../deps.ts'
import { setPhase } from './store.ts'

/** Records the phases of one start: the beginning, the duration and the error of each. */
export class PhaseJournal {
  #position = 0
  readonly #deps: Pick<Deps, 'db' | 'now' | 'redaction'>
  readonly #of: { session_id: string; generation: number }

  constructor(deps: Pick<Deps, 'db' | 'now' | 'redaction'>, of: { session_id: string; generation: number }) {
    this.#deps = deps
    // Callers pass a whole session, but rows take only these two fields.
    this.#of = { session_id: of.session_id, generation: of.generation }
  }

  async run<T>(name: string, work: () => Promise<T>): Promise<T> {
    const position = this.#position++
    const started = performance.now()
    const row = { ...this.#of, position, name, started_at: this.#deps.now(), ms: null, error: null, note: null }
    const end = (error: string | null) => setPhase(this.#deps.db, { ...row, ms: performance.now() - started, error })
    await setPhase(this.#deps.db, row)
    try {
      const value = await work()
      await end(null)
      return value
    } catch (error) {
      await end(this.#redact(error instanceof Error ? error.message : String(error)))
      throw error
    }
  }

  /** Records the steps that the daemon timed. It repeats them as they progress, so their positions stay the same. */
  async report(steps: { name: string; started_at: Date; ms: number | null; error: string | null }[]): Promise<void> {
    for (const [index, step] of steps.entries())
      await setPhase(this.#deps.db, {
        ...this.#of,
        position: this.#position + index,
        ...step,
        note: null,
        error: step.error === null ? null : this.#redact(step.error),
      })
  }

  #redact(text: string): string {
    return this.#deps.redaction.of(this.#of.session_id).text(text)
  }
}
