/**
 * `npm run torture -- merges [--kills N] [--minutes N] [--seed N] [--servers N] [--only managed|external|file]` kills the
 * server at every step of a merge and checks what remains.
 */
import { check } from './check.ts'
import { eachPoint, killAgainAndAgain, type KillPlan, startClients } from './kills.ts'
import { randomFrom } from './random.ts'
import { conclude, flags, kindsOf, withPostgres, withServers } from './run.ts'
import type { TortureServerOptions } from './server.ts'
import type { World } from './world.ts'

// The limits of kills and minutes, of which the first ends the run; the checks cover what was done until then.
const { kills, minutes, seed, clients, servers, only } = flags({
  ...{ kills: 1000, minutes: 600, seed: 1, clients: 2, servers: 1, only: '' },
})
const random = randomFrom(seed)
let began = 0

/** Each failpoint at its first hit, then each at one of its first four, repeatedly; every tenth death is at no failpoint. */
function* plans(): Iterable<KillPlan> {
  let made = 0
  for (let round = 0; made < kills && !isLate(); round++) {
    for (const plan of eachPoint(() => (round === 0 ? 1 : 1 + Math.floor(random() * 4)))) {
      if (made++ >= kills || isLate()) return
      yield plan
      if (made % 10 !== 9 || round === 0 || made >= kills) continue
      made++
      yield { failpoints: null, outside: false }
    }
  }
}

async function torture(world: World) {
  const enough = new AbortController()
  const working = startClients(world, { perProject: clients, enough: enough.signal, random })
  began = performance.now()
  const onKill = ({ kills: dead }: { kills: number }) => {
    if (dead % 50 === 0) console.log(`${dead} killed, ${seconds()} s`)
  }
  const report = await Promise.race([
    killAgainAndAgain(world, plans(), { random, onKill }),
    working.then(() => {
      throw new Error('The clients ended before the kills did.')
    }),
  ])
  enough.abort()
  await working
  const findings = await check(world)
  // The first start created the database; every later one followed a kill.
  const ready = world.servers.flatMap(({ readyMs }) => readyMs.slice(1)).toSorted((a, b) => a - b)
  console.log(JSON.stringify(report, null, 2))
  console.log(`${report.kills} killed, ${Object.keys(report.atPoint).length} failpoints, ${seconds()} s`)
  console.log(`ready after kill -9: p50 ${ms(ready, 0.5)} ms, p99 ${ms(ready, 0.99)} ms, slowest ${ms(ready, 1)} ms`)
  console.log(
    `${findings.merged} merged, ${findings.acknowledged} acknowledged, ${findings.abandoned} attempts given up, ${findings.outsidePushes} outside pushes`,
  )
  return { problems: findings.violations }
}

const run = (shared: TortureServerOptions) => withServers({ kinds: kindsOf(only), count: servers, shared }, torture)
// Several servers share a database, which must not die with one of them.
const { problems } = servers === 1 ? await run({}) : await withPostgres((databaseUrl) => run({ databaseUrl }))
conclude(problems, 'violations')

function isLate(): boolean {
  return performance.now() - began > minutes * 60_000
}

function seconds(): string {
  return ((performance.now() - began) / 1000).toFixed(1)
}

function ms(sorted: number[], part: number): string {
  return (sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0).toFixed(0)
}
