/** Kills and restarts servers until the wanted number has died, while clients work. */
import { setTimeout as delay } from 'node:timers/promises'
import { pointsOf, scenarios } from './scenarios.ts'
import type { World } from './world.ts'

export interface KillPlan {
  /** `SVC_FAILPOINTS` for this start; null kills it at a random moment. */
  failpoints: string | null
  outside: boolean
}

export interface KillReport {
  kills: number
  /** How many died at their failpoint. */
  atPoint: Record<string, number>
  missed: Record<string, number>
  atRandom: number
}

/** A failpoint that is not reached within this time is not on the clients' path. */
const lifeMsMax = 15_000

/** Every failpoint of a merge, at the hit that `at` chooses, each after the steps that lead to it. */
export function eachPoint(at: () => number): KillPlan[] {
  return pointsOf('merges').flatMap((name) => {
    const { after } = scenarios[name]!
    // The next server finds what a dead one left, once.
    return after === undefined ? [planFor(name, at())] : [planFor(after, at()), planFor(name, 1)]
  })
}

function planFor(name: string, at: number): KillPlan {
  const { beside, outside } = scenarios[name]!
  return { failpoints: `${beside === undefined ? '' : `${beside},`}${name}=kill@${at}`, outside: outside === true }
}

/** The clients must already be running. Ends with a server that runs without failpoints. */
export async function killAgainAndAgain(
  world: World,
  plans: Iterable<KillPlan>,
  options: { random: () => number; onKill?: (report: KillReport) => void },
): Promise<KillReport> {
  const report: KillReport = { kills: 0, atPoint: {}, missed: {}, atRandom: 0 }
  for (const plan of plans) {
    // With several servers, one keeps dying while the others work on and reconcile what it left.
    const server = world.servers.at(-1)!
    if (server.isRunning) await server.kill()
    const isReady = await server.start(plan.failpoints === null ? {} : { failpoints: plan.failpoints })
    const lifeMs = plan.failpoints === null ? options.random() * 700 : lifeMsMax
    const outsider = new AbortController()
    const pushing = plan.outside ? pushWhile(world, outsider.signal) : Promise.resolve()
    const end = isReady ? await Promise.race([server.exited.then(() => 'point'), delay(lifeMs, 'time')]) : 'point'
    await server.kill()
    outsider.abort()
    await pushing
    const name = plan.failpoints ?? 'random'
    world.history.write({ kind: 'life', failpoints: name, readyMs: server.readyMs.at(-1) ?? null, end })
    report.kills++
    const point = /([a-z._]+)=kill/.exec(name)?.[1] ?? 'random'
    if (plan.failpoints === null) report.atRandom++
    else if (end === 'point') report.atPoint[point] = (report.atPoint[point] ?? 0) + 1
    else report.missed[point] = (report.missed[point] ?? 0) + 1
    options.onKill?.(report)
  }
  for (const server of world.servers) {
    if (server.isRunning) await server.kill()
    await server.start()
  }
  return report
}

async function pushWhile(world: World, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) for (const project of world.projects) await world.pushOutside(project)
}

/** Clients of both projects, each with one change after another, until they are stopped. */
export function startClients(
  world: World,
  options: { perProject: number; enough: AbortSignal; random: () => number },
): Promise<void> {
  const work = async (n: number, project: (typeof world.projects)[number]) => {
    while (!options.enough.aborted) {
      for (const change of await world.makeChanges(project, 4)) {
        if (options.enough.aborted) return
        await world.carry(change, { refusedFirst: options.random() < 0.3 })
        if (options.random() < 0.1 && n === 0) await world.pushOutside(project)
      }
    }
  }
  return Promise.all(
    world.projects.flatMap((project) => Array.from({ length: options.perProject }, (_, n) => work(n, project))),
  ).then(() => {})
}
