/** Ends a move without its switch, or sends it back by a phase. The project stays whole at the home that it has. */
import type { Deps } from '../../deps.ts'
import { setHomeState } from '../../projects/home-store.ts'
import { ageOf, lockMove, type MoveRow, noteProgress, setPhase } from './store.ts'

/** How often a move that was frozen begins again. */
const attemptsMax = 3
/** A frozen project acknowledges nothing, so this is how long one waits for a server that died. */
const frozenSecondsMax = 45
/** A server that restarts goes on with its part. */
const silentSecondsMax = 15 * 60
/** For turns of agents to end, and for requests. */
const waitSecondsMax = 30 * 60

type EndDeps = Pick<Deps, 'db' | 'log' | 'homeGate'>

/** Returns false when the move went on meanwhile. */
export async function undoMove(
  deps: EndDeps,
  move: MoveRow,
  { error, again }: { error: string; again: boolean },
): Promise<boolean> {
  const { project_id, from_server: home, home_epoch } = move
  const phase = again && move.attempts + 1 < attemptsMax ? ('copying' as const) : ('failed' as const)
  const undone = await deps.db.transaction().execute(async (trx) => {
    // Before the row of the project, as the switch does.
    await lockMove(trx, move.move_id)
    const set = await setPhase(trx, move, move.phase, { phase, error, attempts: move.attempts + 1 })
    if (set !== null) await setHomeState(trx, { project_id, home, home_epoch }, 'open')
    return set
  })
  if (undone === null) return false
  deps.homeGate.changed(project_id)
  deps.log.warn({ project_id, to: move.to_server, phase: move.phase, error }, 'a move of a project was undone')
  return true
}

/** Ends what has lasted too long, whichever of the two servers is gone. Any server may do it. */
export async function undoLate(deps: EndDeps, move: MoveRow): Promise<void> {
  const age = await ageOf(deps.db, move)
  const { from_server: from, to_server: to } = move
  if (move.phase === 'frozen' && age.phase > frozenSecondsMax) {
    // Which of the two was paused or silent is not known.
    const error = `The project did not get from ${from} to ${to} within ${frozenSecondsMax} seconds.`
    await undoMove(deps, move, { error, again: true })
  } else if (move.phase === 'copying' && age.progress > silentSecondsMax)
    await undoMove(deps, move, { error: move.waits_for ?? `${from} and ${to} made no progress.`, again: false })
  else if (move.phase === 'copied' && age.phase > waitSecondsMax)
    await undoMove(deps, move, { error: move.waits_for ?? `${from} did not hand the project over.`, again: false })
}

/** Notes why the move does not go on at the moment. */
export async function waitFor(deps: Pick<Deps, 'db'>, move: MoveRow, reason: string): Promise<void> {
  if (move.waits_for !== reason) await noteProgress(deps.db, move, { waits_for: reason })
}
