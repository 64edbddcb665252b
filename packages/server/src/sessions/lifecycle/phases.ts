import type { Deps } from '../../deps.ts'
import type { NewRow } from '../../db/schema.ts'
import { resumePhases, setPhase } from './store.ts'

type JournalDeps = Pick<Deps, 'db' | 'log' | 'now' | 'redaction'>

/** Records the phases of one start: the beginning, the duration and the error of each. */
export class PhaseJournal {
  #position = 0
  readonly #deps: JournalDeps
  readonly #of: { session_id: string; generation: number }
  #wait: NewRow<'session_phases'> | null = null
  #written: Promise<void> = Promise.resolve()

  constructor(deps: JournalDeps, of: { session_id: string; generation: number }) {
    this.#deps = deps
    // Callers pass a whole session, but rows take only these two fields.
    this.#of = { session_id: of.session_id, generation: of.generation }
  }

  /** Goes on with the journal of an earlier server, so that the steps of the daemon keep their positions. */
  async resume(): Promise<void> {
    this.#position = await resumePhases(this.#deps.db, this.#of, this.#deps.now())
  }

  /** `work` may show why it waits. The reason goes when the phase ends. */
  async run<T>(name: string, work: (waits: (reason: string) => void) => Promise<T>): Promise<T> {
    const position = this.#position++
    const started = performance.now()
    const row = { ...this.#of, position, name, started_at: this.#deps.now(), ms: null, error: null, note: null }
    const end = async (error: string | null) => {
      await this.#written
      await setPhase(this.#deps.db, { ...row, ms: performance.now() - started, error })
    }
    await setPhase(this.#deps.db, row)
    let shown: string | null = null
    const waits = (reason: string) => {
      if (reason !== shown) this.#writeWait({ ...row, note: this.#redact(reason) })
      shown = reason
    }
    try {
      const value = await work(waits)
      await end(null)
      return value
    } catch (error) {
      await end(this.#redact(error instanceof Error ? error.message : String(error)))
      throw error
    }
  }

  /** Shows a wait before the other phases, with its reason. Writes one row at a time, so that the newest reason stays. */
  waits(note: string): void {
    this.#wait ??= {
      ...this.#of,
      ...{ position: this.#position++, name: 'queue', started_at: this.#deps.now(), ms: null, error: null },
    }
    this.#wait = { ...this.#wait, note }
    this.#writeWait(this.#wait)
  }

  async waitEnds(): Promise<void> {
    const wait = this.#wait
    if (wait === null || wait.ms !== null) return
    this.#wait = { ...wait, ms: this.#deps.now().getTime() - new Date(wait.started_at).getTime(), note: null }
    this.#writeWait(this.#wait)
    await this.#written
  }

  #writeWait(row: NewRow<'session_phases'>): void {
    this.#written = this.#written
      .then(() => setPhase(this.#deps.db, row))
      .catch((error: unknown) =>
        this.#deps.log.warn({ err: error, session_id: row.session_id }, 'showing why a session waits failed'),
      )
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
