/** The part of the server that a project leaves: everything of the project ends, and nothing is acknowledged any more. */
import { setTimeout as delay } from 'node:timers/promises'
import type { Deps } from '../../deps.ts'
import '../../failpoint.ts'
import { setHomeState } from '../../projects/home-store.ts'
import { getProjectOrDeleted } from '../../projects/store.ts'
import { deliverWaitingPrompts, reconcileSessions } from '../../sessions/jobs.ts'
import { findLeft } from '../../sessions/lifecycle/adopt.ts'
import { runningSessionsOf, type SessionWithSandbox } from '../../sessions/store.ts'
import { isAnswering } from '../reachable.ts'
import { livePeer } from '../store.ts'
import { undoMove, waitFor } from './end-move.ts'
import { activeMoveOf, lockMove, type MoveRow, setPhase } from './store.ts'

/** A request that lasts longer makes the move wait for a better moment. */
const drainMsMax = 10_000
/** For a notification to reach every server. */
const announceMs = 300
/** Between two looks at agents, two saves, and two times in which clients wait for nothing. */
const restMs = { look: 1_000, save: 15_000, close: 30_000 }

/** Returns in how many milliseconds another try makes sense. */
export async function handOver(deps: Deps, move: MoveRow): Promise<number> {
  const { project_id: projectId, from_server: home, home_epoch } = move
  const project = await getProjectOrDeleted(deps.db, projectId)
  if (project === null || project.home !== home || project.home_epoch !== home_epoch) {
    const error = 'The project has another home since this move began.'
    await undoMove(deps, move, { error, again: false })
    return 0
  }
  // One step of this process at a time closes it, so another process did that and died. Open, its sessions are adopted.
  if (project.home_state === 'closing') {
    await stay(deps, move, `Handing the project over was interrupted at ${home}.`)
    return restMs.look
  }
  const wait = async (reason: string, ms: number) => {
    await waitFor(deps, move, reason)
    return ms
  }
  const to = { serverName: move.to_server, deadAfterSeconds: deps.heartbeat.deadAfterSeconds() }
  const target = await livePeer(deps.db, to)
  if (target === null) return wait(`${move.to_server} is not running.`, restMs.look)
  // It takes the project over by itself, but no request would reach it there.
  if (!(await isAnswering(deps, target)))
    return wait(`${move.to_server} does not answer at ${target.peer_url}, its SVC_PEER_URL.`, restMs.look)
  const busy = await whyBusy(deps, move)
  if (busy !== null) return wait(busy, restMs.look)
  // Long saves happen while requests are still answered.
  const unsaved = await whyUnsaved(deps, move)
  if (unsaved !== null) return wait(unsaved, restMs.save)
  const of = { project_id: projectId, home, home_epoch }
  await failpoint('move.before_close')
  try {
    const closing = await deps.db.transaction().execute(async (trx) => {
      // It may have been cancelled, or forced, while work was saved.
      const now = await lockMove(trx, move.move_id)
      return now?.phase === 'copied' && (await setHomeState(trx, of, 'closing')) !== null ? now : null
    })
    if (closing === null) return 0
    // The other servers hold writes before this one does: it could only refuse what they have begun to pass on.
    await delay(announceMs)
    deps.homeGate.close(projectId)
    await failpoint('move.after_close')
    const reason = await settle(deps, closing)
    if (reason !== null) {
      await stay(deps, move, reason)
      return restMs.close
    }
    await failpoint('move.before_freeze')
    await freeze(deps, move)
    await failpoint('move.after_freeze')
    return 0
  } catch (error) {
    await stay(deps, move, 'Its home failed to hand it over.')
    throw error
  }
}

async function freeze(deps: Deps, move: MoveRow): Promise<void> {
  const { project_id, from_server: home, home_epoch } = move
  await deps.db.transaction().execute(async (trx) => {
    // A cancelled move leaves the project open.
    if ((await lockMove(trx, move.move_id))?.phase !== 'copied') return
    // Waits for the transactions that acknowledge something, and none begins after it.
    const held = await setHomeState(trx, { project_id, home, home_epoch }, 'frozen')
    if (held !== null) await setPhase(trx, move, 'copied', { phase: 'frozen' })
  })
}

/** Opens the project again where it is. */
async function stay(deps: Deps, move: MoveRow, reason: string): Promise<void> {
  const { project_id, from_server: home, home_epoch } = move
  await deps.db.transaction().execute(async (trx) => {
    const now = await lockMove(trx, move.move_id)
    if (now?.phase === 'copied') await setHomeState(trx, { project_id, home, home_epoch }, 'open')
  })
  deps.homeGate.open(project_id)
  await waitFor(deps, move, reason)
  await goOn(deps)
}

/** Starts what a move ended, if this server is the home now. */
export async function goOn(deps: Deps): Promise<void> {
  await reconcileSessions(deps)
  deps.apps.enqueue()
  await deliverWaitingPrompts(deps)
}

/** Null once nothing of the project runs here any more. */
async function settle(deps: Deps, move: MoveRow): Promise<string | null> {
  const { project_id: projectId, is_forced } = move
  const isDrained = await deps.homeGate.until(projectId, drainMsMax, () => deps.homeGate.writesOf(projectId) === 0)
  if (!isDrained && !is_forced) return 'Requests that change the project are still running.'
  const busy = await whyBusy(deps, move)
  if (busy !== null) return busy
  if ((await activeMoveOf(deps.db, projectId))?.move_id !== move.move_id) return 'The move has ended.'
  const sessionIds = (await runningSessionsOf(deps.db, projectId)).map(({ session_id }) => session_id)
  await Promise.all([
    deps.apps.moveAway(projectId),
    deps.checks.moveAway(projectId),
    deps.warm.dropProject(projectId),
    ...sessionIds.map((sessionId) => deps.sessions.moveAway(sessionId)),
  ])
  return null
}

/** Null: no agent works. A forced move ends turns. */
async function whyBusy(deps: Deps, { project_id, is_forced }: MoveRow): Promise<string | null> {
  if (is_forced) return null
  const live = await runningSessionsOf(deps.db, project_id)
  const isBusy = ({ session_id, is_busy }: SessionWithSandbox) => is_busy || deps.sessions.turnOf(session_id) === 'busy'
  const busy = live.find(isBusy)
  if (busy !== undefined)
    return `The agent of session ${busy.session_id.slice(0, 8)} ${busy.is_waiting ? "waits for a person's answer" : 'is working'}.`
  const starting = live.find(({ status, sandbox }) => status === 'provisioning' && sandbox !== null)
  if (starting !== undefined) return `Session ${starting.session_id.slice(0, 8)} is starting.`
  return whyUnread(deps, live)
}

/** Null: this server has every sandbox that lives, also those that it had before a restart. Only so their work is saved. */
async function whyUnread(deps: Deps, live: SessionWithSandbox[]): Promise<string | null> {
  for (const session of live) {
    if (session.status !== 'running' || deps.sessions.wipOf(session.session_id) !== null) continue
    if ((await findLeft(deps.sandboxes, session)) === null) continue
    return `Session ${session.session_id.slice(0, 8)} is not connected to its sandbox yet.`
  }
  return null
}

/** Null: all unfinished work is saved. A forced move leaves behind what cannot be saved. */
async function whyUnsaved(deps: Deps, { project_id, is_forced }: MoveRow): Promise<string | null> {
  for (const { session_id } of await runningSessionsOf(deps.db, project_id)) {
    const saved = await deps.sessions.wipOf(session_id)?.saveNow()
    if (is_forced || saved === undefined || saved.kind === 'clean' || saved.kind === 'saved') continue
    return `The unfinished work of session ${session_id.slice(0, 8)} cannot be saved: ${saved.reason}`
  }
  return null
}
