/** The job that keeps servers about equally full, and empties those that are drained. */
import type { Deps } from '../../deps.ts'
import { idleProject, loads, lockBalance, nextToDrain, type ServerLoad } from './balance-store.ts'
import { rowOf } from './start-move.ts'
import { activeMoves, insertMove, type MoveRow } from './store.ts'

/** A restart is no reason to move anything. */
const settledMinutes = 5
/** Servers differ by this many projects, and by this part of what the fuller one has, before anything moves. */
const differenceMin = 4
const partMin = 0.2
/** Moves out of one drained server at a time, apart from those that wait. */
const drainsMax = 4
/** Turns and open questions may take long. Once this many moves wait, only projects at rest begin to move. */
const waitsMax = 4
/** An agent may begin to work after its project began to move, so more moves can wait than that. */
const allMax = 16

type BalanceDeps = Pick<Deps, 'config' | 'db' | 'heartbeat' | 'home' | 'log' | 'newId'>

/** `ofDrains`: only the moves that a drain has room for, as when one of them has ended. */
export async function balanceServers(deps: BalanceDeps, { ofDrains = false } = {}): Promise<void> {
  while (deps.home !== null) {
    const begun = await beginNext(deps, ofDrains)
    if (begun === null) return
    const { project_id, from_server: from, to_server: to, cause } = begun
    deps.log.info({ project_id, from, to, cause }, 'a project begins to move to another server')
  }
}

function beginNext(deps: BalanceDeps, ofDrains: boolean): Promise<MoveRow | null> {
  return deps.db.transaction().execute(async (trx) => {
    if (!(await lockBalance(trx))) return null
    const active = await activeMoves(trx)
    const servers = ofOneClock(await loads(trx, deps.heartbeat.deadAfterSeconds()))
    const balance = deps.config.balanceHomes && !ofDrains ? chooseBalance(servers) : null
    for (const { from, to } of drains(servers, active)) {
      const moves = active.filter(({ cause, from_server }) => cause === 'drain' && from_server === from)
      const waits = moves.filter(({ phase, waits_for }) => phase === 'copied' && waits_for !== null).length
      const hasPlace = moves.length - waits < drainsMax && moves.length < allMax
      const project = hasPlace ? await nextToDrain(trx, from, { isAtRest: waits >= waitsMax }) : null
      if (project !== null) return insertMove(trx, { ...rowOf(deps, project, to), cause: 'drain' })
    }
    // One at a time, and never beside another move.
    if (balance === null || active.length > 0) return null
    const project = await idleProject(trx, balance.from)
    return project === null ? null : insertMove(trx, { ...rowOf(deps, project, balance.to), cause: 'balance' })
  })
}

/** Servers with another clock can neither hand over a project nor take one. When all differ, it is the database's that does. */
function ofOneClock(servers: ServerLoad[]): ServerLoad[] {
  return preferred(servers, ({ has_other_clock }) => !has_other_clock)
}

/** Those that pass, or all when none does. */
function preferred(servers: ServerLoad[], test: (server: ServerLoad) => boolean): ServerLoad[] {
  const passing = servers.filter(test)
  return passing.length > 0 ? passing : servers
}

interface Choice {
  from: string
  to: string
}

/** Exported for its test. */
export function chooseBalance(servers: ServerLoad[]): Choice | null {
  const settled = servers.every(({ minutes }) => minutes >= settledMinutes)
  const open = servers.filter((each) => !each.is_draining).toSorted((a, b) => a.projects - b.projects)
  const [emptiest] = takers(open)
  const fullest = open.findLast((each) => each !== emptiest)
  if (!settled || emptiest === undefined || fullest === undefined) return null
  // A take-over may have left projects there, and each of their sessions would fail.
  const unable = open.find(({ has_sandboxes, projects }) => !has_sandboxes && projects > 0)
  if (emptiest.has_sandboxes && unable !== undefined) return { from: unable.server_name, to: emptiest.server_name }
  const difference = fullest.projects - emptiest.projects
  const isUnequal = difference >= differenceMin && difference >= fullest.projects * partMin
  return isUnequal ? { from: fullest.server_name, to: emptiest.server_name } : null
}

/** Those whose disk is almost full, or whose sandboxes cannot start, take projects only where no other server can. */
function takers(servers: ServerLoad[]): ServerLoad[] {
  const roomy = preferred(servers, ({ disk_low }) => !disk_low)
  return preferred(roomy, ({ has_sandboxes }) => has_sandboxes)
}

/** One that has to wait for its projects holds up no other. Moves that are under way count at their targets. */
function drains(servers: ServerLoad[], active: MoveRow[]): Choice[] {
  const expected = ({ server_name, projects }: ServerLoad) =>
    projects + active.filter(({ to_server }) => to_server === server_name).length
  const open = servers.filter(({ is_draining }) => !is_draining)
  const [to] = takers(open.toSorted((a, b) => expected(a) - expected(b)))
  if (to === undefined) return []
  const from = servers.filter(({ is_draining, projects }) => is_draining && projects > 0)
  return from.map(({ server_name }) => ({ from: server_name, to: to.server_name }))
}
