/** Harms the fleet round after round while clients work, and checks after each one that everything is as it should be. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { check } from '../check.ts'
import { sessionsOf, unsettled } from '../session-chaos.ts'
import { work } from './actions.ts'
import type { Fleet } from './fleet.ts'
import { allReady, type Harm, harms } from './harms.ts'
import { judgeEnd, judgeLeftovers } from './judge.ts'
import { Probes } from './probes.ts'
import { count, Gate, newLedger, type Run } from './run.ts'

/** From the end of a harm until every client has its answer and every session is at rest. */
const settledMs = 60_000
const quietMs = 10_000
/** Every so many rounds nothing happens, for comparison. */
const quietEvery = 5
/** How many times as long a request may take whose home was not harmed. */
const ratioMax = 2

export interface FleetReport {
  problems: string[]
  did: object
}

export interface FleetOptions {
  rounds: number
  minutes: number
  random: () => number
  isBrief: boolean
  /** Only these; all of them when it is empty. */
  only: string[]
  say: (line: string) => void
}

export async function tortureFleet(fleet: Fleet, options: FleetOptions): Promise<FleetReport> {
  const { random, isBrief } = options
  const run: Run = {
    ...{ fleet, random, isBrief, ledger: newLedger(), gate: new Gate() },
    ...{ harmed: new Set(), seen: [], victims: new Map(), problems: [] },
  }
  const over = new AbortController()
  const probes = new Probes()
  const probing = probes.keep(run, over.signal)
  const clients = Promise.all(
    fleet.projects.flatMap((project) => [
      work(run, project, 'branches', over.signal),
      work(run, project, 'sessions', over.signal),
    ]),
  )
  const tally: Tally = { harms: {}, recoveryMs: {}, reasons: {} }
  const began = performance.now()
  let done = 0
  for (const harm of turns([...harms, ...fleet.sandboxes.harms], options)) {
    if (done >= options.rounds || performance.now() - began > options.minutes * 60_000) break
    await round(run, harm, { probes, tally, say: options.say, number: ++done })
  }
  over.abort()
  run.gate.open()
  await Promise.all([clients, probing])
  await judgeEnd(run)
  const found = await check(fleet.world)
  run.problems.push(...found.violations)
  await judgeLeftovers(run)
  const times = Object.fromEntries(['quiet', 'harmed', 'without PostgreSQL'].map((of) => [of, probes.of(of)]))
  for (const of of ['quiet', 'harmed'])
    if (probes.refused[of] !== undefined)
      run.problems.push(
        `${probes.refused[of]} requests were refused in ${of} rounds; the first of them:\n${probes.samples[of]?.join('\n')}`,
      )
  if (!isBrief && times.harmed!.p99 > ratioMax * times.quiet!.p99)
    run.problems.push(`others waited: p99 ${times.harmed!.p99} ms, and ${times.quiet!.p99} ms in quiet rounds`)
  const { merged, acknowledged } = found
  return {
    problems: run.problems,
    did: {
      ...{ rounds: done, harms: tally.harms, recoveryMs: summary(tally), reasons: tally.reasons },
      ...{ actions: run.ledger.counts, merged, acknowledged, pushes: run.ledger.pushes.length },
      ...{ fired: run.ledger.fired.length, times, refused: probes.refused },
    },
  }
}

interface Tally {
  harms: Record<string, number>
  recoveryMs: Record<string, number[]>
  reasons: Record<string, number>
}

/** All harms in random order, again and again, with a quiet round (null) between. */
function* turns(all: Harm[], { random, only }: FleetOptions): Iterable<Harm | null> {
  const chosen = all.filter(({ name }) => only.length === 0 || only.includes(name))
  for (let made = 0; ;) {
    const left = [...chosen]
    while (left.length > 0) {
      if (made++ % quietEvery === 0) yield null
      else yield left.splice(Math.floor(random() * left.length), 1)[0]!
    }
  }
}

async function round(
  run: Run,
  harm: Harm | null,
  { probes, tally, say, number }: { probes: Probes; tally: Tally; say: (line: string) => void; number: number },
): Promise<void> {
  const { fleet, gate, harmed, problems } = run
  const name = harm?.name ?? 'quiet'
  const before = problems.length
  const kind = harm === null ? 'quiet' : harm.cutsDatabase ? 'without PostgreSQL' : 'harmed'
  gate.open()
  await delay((run.isBrief ? 100 : 1_000) * (1 + run.random()))
  probes.round = { kind, number }
  if (harm === null) await delay(run.isBrief ? quietMs / 5 : quietMs)
  else await harm.do(run)
  run.seen.push(...(await fleet.sandboxes.processes(fleet)))
  const ended = performance.now()
  await settle(run, ended)
  probes.round = null
  const took = performance.now() - ended
  harmed.clear()
  await readReasons(run, tally)
  count(tally.harms, name)
  ;(tally.recoveryMs[name] ??= []).push(took)
  fleet.world.history.write({ kind: 'harm', harm: name, recoveryMs: took })
  say(`${number} ${name}: at rest after ${(took / 1000).toFixed(1)} s`)
  for (const problem of problems.slice(before)) say(`  ${problem.slice(0, 500)}`)
  if (problems.length > before) keepOutputs(fleet, number)
}

/** Beside the history, which a run with problems keeps. */
function keepOutputs({ servers, world }: Fleet, number: number): void {
  for (const { name, server } of servers)
    writeFileSync(join(world.history.path, `../round-${number}-${name}.log`), server.output)
}

/** Every server is ready, every client has its answers, and every session is at rest with its daemon in reach. */
async function settle(run: Run, since: number): Promise<void> {
  const { fleet, gate, problems } = run
  const isLate = () => performance.now() - since > settledMs
  while (!(await allReady(run)) && !isLate()) await delay(100)
  if (isLate()) problems.push(`a server is not ready ${settledMs / 1000} s after the harm`)
  gate.close()
  while (gate.busy.size > 0 && !isLate()) await delay(50)
  if (gate.busy.size > 0) problems.push(`clients wait: ${[...gate.busy.values()].join(', ')}`)
  // A client that began something at the last moment may still wait for a sandbox.
  while (gate.busy.size > 0) await delay(50)
  for (const project of fleet.projects) {
    let left = await unsettled(fleet.world, project)
    while (left.size > 0 && !isLate()) {
      await delay(200)
      left = await unsettled(fleet.world, project)
    }
    for (const [id, problem] of left) problems.push(`session ${id} ${problem}`)
  }
  let strays = await fleet.sandboxes.strays(fleet)
  for (; strays.length > 0 && !isLate(); strays = await fleet.sandboxes.strays(fleet)) await delay(200)
  problems.push(...strays)
}

/** Why sessions ended, which has to be what happened to them. */
async function readReasons({ fleet, victims, problems }: Run, tally: Tally): Promise<void> {
  for (const project of fleet.projects)
    for (const { session_id, status, error, sandbox } of await sessionsOf(fleet.world, project)) {
      if (error === null) continue
      const killed = victims.get(sandbox?.sandbox_id ?? '') ?? 'nothing'
      // A client stopped it.
      if (status === 'stopped' && unsaved.test(error)) continue
      count(tally.reasons, `${killed} killed, ${status}: ${error.slice(0, 200)}`)
      if (!trueReasons[killed]!.test(error)) problems.push(`session ${session_id}, ${killed} killed, says: ${error}`)
    }
}

const unsaved = /^The last changes of this session may not be saved\. /
const ended = /^The sandbox ended by itself /
/** The other one: it had not booted yet. */
const endedOrNotStarted = /^(The sandbox ended by itself |The sandbox did not start: bubblewrap ended )/
/** By what was killed in the sandbox. A server finds the sandboxes of its earlier life again, so its death is none. */
const trueReasons: Record<string, RegExp> = {
  driver: ended,
  pod: ended,
  // Nothing heard how it ended.
  'pod of a dead server':
    /^The server that ran this sandbox stopped, and the sandbox ended before a server continued it\. /,
  'process 1': endedOrNotStarted,
  daemon: endedOrNotStarted,
  runtime: /^The agent runtime ended with exit code/,
  server: /^Its server, \w+, is gone, and \w+ took its project over\. /,
  nothing: /^(?!)/,
}

function summary({ recoveryMs }: Tally): Record<string, { median: number; slowest: number }> {
  return Object.fromEntries(
    Object.entries(recoveryMs).map(([name, all]) => {
      const sorted = all.toSorted((a, b) => a - b).map(Math.round)
      return [name, { median: sorted[Math.floor(sorted.length / 2)]!, slowest: sorted.at(-1)! }]
    }),
  )
}
