import type { DbOrTransaction, NewRow } from '../db/schema.ts'
import type { Deps } from '../deps.ts'

/** The journal of one start: each step with when it began, how long it took and what went wrong in it. */
export class PhaseJournal {
  #position = 0
  readonly #deps: Pick<Deps, 'db' | 'now' | 'redaction'>
  readonly #of: { session_id: string; generation: number }

  constructor(deps: Pick<Deps, 'db' | 'now' | 'redaction'>, of: { session_id: string; generation: number }) {
    this.#deps = deps
    // A whole session is given; a row takes these two of it and no more.
    this.#of = { session_id: of.session_id, generation: of.generation }
  }

  async run<T>(name: string, work: () => Promise<T>): Promise<T> {
    const position = this.#position++
    const started = performance.now()
    const row = { ...this.#of, position, name, started_at: this.#deps.now(), ms: null, error: null }
    await setPhase(this.#deps.db, row)
    try {
      const value = await work()
      await setPhase(this.#deps.db, { ...row, ms: performance.now() - started })
      return value
    } catch (error) {
      await setPhase(this.#deps.db, {
        ...row,
        ms: performance.now() - started,
        error: this.#said(error instanceof Error ? error.message : String(error)),
      })
      throw error
    }
  }

  /** Steps the daemon timed itself; told again as they go on, so their places are kept. */
  async report(steps: { name: string; started_at: Date; ms: number | null; error: string | null }[]): Promise<void> {
    for (const [index, step] of steps.entries())
      await setPhase(this.#deps.db, {
        ...this.#of,
        position: this.#position + index,
        ...step,
        error: step.error === null ? null : this.#said(step.error),
      })
  }

  #said(text: string): string {
    return this.#deps.redaction.of(this.#of.session_id).text(text)
  }
}

async function setPhase(db: DbOrTransaction, row: NewRow<'session_phases'>): Promise<void> {
  await db
    .insertInto('session_phases')
    .values(row)
    .onConflict((conflict) =>
      conflict
        .columns(['session_id', 'generation', 'position'])
        .doUpdateSet({ name: row.name, started_at: row.started_at, ms: row.ms ?? null, error: row.error ?? null }),
    )
    .execute()
}

export async function phasesOf(db: DbOrTransaction, sessionId: string, generation: number) {
  return db
    .selectFrom('session_phases')
    .select(['name', 'started_at', 'ms', 'error'])
    .where('session_id', '=', sessionId)
    .where('generation', '=', generation)
    .orderBy('position')
    .execute()
}
