/** The job that carries moves of projects on, each step by the server whose part it is. */
import { GitError } from '@svc/git'
import type { Deps } from '../../deps.ts'
import { getProjectOrDeleted } from '../../projects/store.ts'
import { setHomeState } from '../../projects/home-store.ts'
import { runningSessionsOf } from '../../sessions/store.ts'
import { undoLate, undoMove, waitFor } from './end-move.ts'
import { goOn, handOver } from './source.ts'
import { activeMoves, leftClosed, type MoveRow } from './store.ts'
import { copyOnce, takeOver } from './target.ts'

const unwritable = ['EROFS', 'EACCES', 'EPERM']

/** git has no code for a connection that it ended because nothing came. */
const silence = /Operation too slow\. Less than \d+ bytes\/sec/

function whyRepeated(error: unknown, { from_server }: MoveRow, serverName: string): string {
  if (error instanceof GitError && silence.test(error.stderr))
    return `The connection to ${from_server} was silent for minutes, so ${serverName} begins the copy again.`
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  if (unwritable.includes(code)) return `${serverName} cannot write to its data folder (${code}).`
  return `A step failed at ${serverName} and is repeated. The log of ${serverName} has the reason.`
}

export class MoveTender {
  readonly #deps: Deps
  /** Steps that are under way, by move. One of the two servers works on it at a time. */
  readonly #steps = new Map<string, Promise<void>>()
  /** When the next step of a move makes sense, as it said. */
  readonly #restUntil = new Map<string, number>()

  constructor(deps: Deps) {
    this.#deps = deps
  }

  /** `again` while there are moves. */
  async tend(signal: AbortSignal): Promise<'again' | null> {
    const { db, home } = this.#deps
    if (home === null) return null
    const moves = await activeMoves(db)
    for (const move of moves) {
      await undoLate(this.#deps, move)
      this.#begin(move, signal)
    }
    await this.#settleGate(moves)
    for (const { project_id, home_epoch } of await leftClosed(db, home)) {
      await setHomeState(db, { project_id, home, home_epoch }, 'open')
      await goOn(this.#deps)
    }
    return moves.length > 0 ? 'again' : null
  }

  async ended(): Promise<void> {
    await Promise.all(this.#steps.values())
  }

  #begin(move: MoveRow, signal: AbortSignal): void {
    const step = this.#stepOf(move)
    if (step === null || this.#steps.has(move.move_id)) return
    if (performance.now() < (this.#restUntil.get(move.move_id) ?? 0)) return
    const run = Promise.resolve(step(this.#deps, move, signal))
      .then((ms) => {
        if (typeof ms === 'number' && ms > 0) this.#restUntil.set(move.move_id, performance.now() + ms)
        else this.#restUntil.delete(move.move_id)
      })
      .catch(async (error: unknown) => {
        if (signal.aborted) return
        const { project_id, phase } = move
        this.#deps.log.warn({ err: error, project_id, phase }, 'a step of a move failed; retrying')
        if (phase === 'frozen')
          await undoMove(this.#deps, move, { error: `${move.to_server} failed to take the project.`, again: true })
        else await waitFor(this.#deps, move, whyRepeated(error, move, this.#deps.serverName))
      })
      .catch((error: unknown) => {
        const { project_id, phase } = move
        this.#deps.log.error(
          { err: error, project_id, phase },
          phase === 'frozen'
            ? 'undoing a move failed; it is undone later'
            : 'recording why a move waits failed; its step is repeated',
        )
      })
      .then(() => void this.#steps.delete(move.move_id))
    this.#steps.set(move.move_id, run)
  }

  #stepOf({ phase, from_server, to_server }: MoveRow) {
    const { home } = this.#deps
    if (phase === 'frozen') return to_server === home ? takeOver : null
    if (phase === 'copied' && from_server === home) return handOver
    return to_server === home ? copyOnce : null
  }

  /** Lets the writes go that wait here, to wherever the project is now, and ends streams of sessions that went away. */
  async #settleGate(moves: MoveRow[]): Promise<void> {
    const { db, home, homeGate, feed } = this.#deps
    const leaving = new Set(moves.filter(({ phase }) => phase !== 'copying').map(({ project_id }) => project_id))
    for (const projectId of homeGate.closed) {
      const project = await getProjectOrDeleted(db, projectId)
      if (project?.home === home && leaving.has(projectId)) continue
      homeGate.open(projectId)
      if (project?.home === home) await goOn(this.#deps)
      else for (const { session_id } of await runningSessionsOf(db, projectId)) feed.end(session_id)
    }
  }
}
