/** Kill, start again, kill: until the wanted number of servers is dead. Clients work through all of it. */
import { setTimeout as delay } from 'node:timers/promises'
import { pointsOf, scenarios } from './scenarios.ts'
import type { World } from './world.ts'

export interface KillPlan {
  /** What `SVC_FAILPOINTS` is for this life; null: it is killed at some moment. */
  failpoints: string | null
  outside: boolean
}

export interface KillReport {
  kills: number
  /** How many died at the point they were meant to. */
  atPoint: Record<string, number>
  missed: Record<string, number>
  atRandom: number
}

/** A point that is not reached by then is not reached with what the clients do. */
const lifeMsMax = 15_000

/** Every point of the merges, at the hit that `at` chooses, each after what leads to it. */
export function eachPoint(at: () => number): KillPlan[] {
  return pointsOf('merges').flatMap((name) => {
    const { after } = scenarios[name]!
    // What a dead server left is found once, by the next one.
    return after === undefined ? [planFor(name, at())] : [planFor(after, at()), planFor(name, 1)]
  })
}

function planFor(name: string, at: number): KillPlan {
  const { beside, outside } = scenarios[name]!
  return { failpoints: `${beside === undefined ? '' : `${beside},`}${name}=kill@${at}`, outside: outside === true }
}

/** The clients have to be at work already. Ends with a server that runs without failpoints. */
export async function killAgainAndAgain(
  world: World,
  plans: Iterable<KillPlan>,
  options: { random: () => number; onKill?: (report: KillReport) => void },
): Promise<KillReport> {
  const report: KillReport = { kills: 0, atPoint: {}, missed: {}, atRandom: 0 }
  for (const plan of plans) {
    // With several, one of them dies again and again while the others work on, and settle what it left.
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

/** Clients of both projects, each with one change after the other, until they are told that it is enough. */
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

/** Numbers that are the same for the same seed. */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
