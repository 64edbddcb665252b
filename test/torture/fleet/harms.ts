/**
 * What happens to the fleet in a round. A new harm is one more entry: it gets the run, adds the servers that it
 * affects to `run.harmed` before it begins, and returns when it is over and everything runs again.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { until } from '../../e2e/harness.ts'
import { doHarm, type Harm as DatabaseHarm } from '../database-harm.ts'
import { type FleetServer, isReady } from './fleet.ts'
import { homeMoved, serverDrained, serverLost } from './home-harms.ts'
import type { Cut } from './network.ts'
import type { Run } from './run.ts'

export interface Harm {
  name: string
  /** Every request needs PostgreSQL, so these rounds are measured apart. */
  cutsDatabase?: true
  do(run: Run): Promise<void>
}

/** A server without a heartbeat for 20 s counts as dead; a lock that was lost counts after 5 s. */
export const deadMs = 20_000

export const harms: Harm[] = [
  { name: 'server killed', do: (run) => restarted(run, 'SIGKILL', [0, 3_000]) },
  { name: 'server killed for long', do: (run) => restarted(run, 'SIGKILL', [deadMs, deadMs + 10_000]) },
  { name: 'server stopped', do: (run) => restarted(run, 'SIGTERM', [0, 8_000]) },
  { name: 'server paused', do: paused },
  { name: 'machine without power', do: withoutPower },
  { name: 'home moved', do: homeMoved },
  { name: 'server drained', do: serverDrained },
  { name: 'server lost', do: serverLost },
  { name: 'process 1 killed', do: (run) => inSandbox(run, 'process 1') },
  { name: 'daemon killed', do: (run) => inSandbox(run, 'daemon') },
  { name: 'runtime killed', do: (run) => inSandbox(run, 'runtime') },
  { name: 'server cut from the others', do: (run) => cutFor(run, peersOf) },
  { name: 'two servers cut', do: (run) => cutFor(run, pairOf) },
  { name: 'server cut from PostgreSQL', do: (run) => cutFor(run, databaseOf) },
  {
    name: 'server alone',
    do: (run) => cutFor(run, (all, it, ways) => [...peersOf(all, it, ways), ...databaseOf(all, it, ways)]),
  },
  { name: 'PostgreSQL cut from all', cutsDatabase: true, do: cutDatabase },
  { name: 'PostgreSQL killed', cutsDatabase: true, do: (run) => database(run, 'killed') },
  { name: 'PostgreSQL crashed', cutsDatabase: true, do: (run) => database(run, 'crashed') },
  { name: 'PostgreSQL restarted', cutsDatabase: true, do: (run) => database(run, 'restarted') },
  { name: 'PostgreSQL paused', cutsDatabase: true, do: (run) => database(run, 'frozen', [3_000, deadMs + 10_000]) },
  { name: 'PostgreSQL connections cut', cutsDatabase: true, do: (run) => database(run, 'cut') },
]

export function between({ random, isBrief }: Run, [min, max]: [number, number]): number {
  const ms = min + random() * (max - min)
  return isBrief ? ms / 10 : ms
}

export function anyServer({ fleet, random, harmed }: Run): FleetServer {
  const chosen = fleet.servers[Math.floor(random() * fleet.servers.length)]!
  harmed.add(chosen)
  return chosen
}

async function restarted(run: Run, signal: NodeJS.Signals, awayMs: [number, number]): Promise<void> {
  const it = anyServer(run)
  await it.server.kill(signal)
  await delay(between(run, awayMs))
  await run.fleet.start(it)
}

/** Longer than its heartbeat and its locks live. */
async function paused(run: Run): Promise<void> {
  const { server } = anyServer(run)
  process.kill(server.pid, 'SIGSTOP')
  await delay(between(run, [deadMs + 2_000, deadMs + 15_000]))
  process.kill(server.pid, 'SIGCONT')
}

/** Its connections stay open for the others, which hear no more of it. */
async function withoutPower(run: Run): Promise<void> {
  const it = anyServer(run)
  const cuts = [...peersOf(run, it, 'both'), ...databaseOf(run, it, 'both')]
  await run.fleet.network.cut(cuts)
  await it.server.kill('SIGKILL')
  await delay(between(run, [0, deadMs + 10_000]))
  await run.fleet.network.heal(cuts)
  await run.fleet.start(it)
}

export async function inSandbox(run: Run, kind: string): Promise<void> {
  const killed = await until(`a ${kind} to kill`, () => run.fleet.sandboxes.kill(run, kind))
  run.seen.push(killed)
  run.victims.set(killed.sandboxId, kind)
}

type Cuts = (run: Run, it: FleetServer, ways: Cut['ways']) => Cut[]

const peersOf: Cuts = ({ fleet }, { n }, ways) =>
  fleet.servers.filter((other) => other.n !== n).map((other) => ({ between: [n, other.n], ways }))

const databaseOf: Cuts = (_run, { n }, ways) => [{ between: [n, 'database'], ways }]

const pairOf: Cuts = ({ fleet, harmed }, { n }, ways) => {
  const other = fleet.servers[(n + 1) % fleet.servers.length]!
  harmed.add(other)
  return [{ between: [n, other.n], ways }]
}

async function cutFor(run: Run, cutsOf: Cuts): Promise<void> {
  await cutWhile(run, cutsOf(run, anyServer(run), run.random() < 0.7 ? 'both' : 'there'))
}

async function cutDatabase(run: Run): Promise<void> {
  await cutWhile(
    run,
    run.fleet.servers.flatMap((each) => databaseOf(run, each, 'both')),
  )
}

export async function cutWhile(run: Run, cuts: Cut[]): Promise<void> {
  await run.fleet.network.cut(cuts)
  await delay(between(run, [2_000, deadMs + 15_000]))
  await run.fleet.network.heal(cuts)
}

async function database(run: Run, harm: DatabaseHarm, frozenMs: [number, number] = [0, 0]): Promise<void> {
  await until(`PostgreSQL to be ${harm}`, () => doHarm(harm, run.fleet.database, between(run, frozenMs)))
}

export async function allReady({ fleet }: Run): Promise<boolean> {
  const ready = await Promise.all(fleet.servers.map(({ server }) => isReady(server)))
  return ready.every(Boolean)
}
