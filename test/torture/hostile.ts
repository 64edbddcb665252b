/**
 * `npm run torture -- hostile [--kind programs|malformed|bombs] [--only text] [--skip N] [--way pushed|raw|served]
 * [--verbose]`: hostile repositories, pushed by git and by hand, and served from a host.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { percentile } from './hostile/bystander.ts'
import { corpus, kinds } from './hostile/corpus.ts'
import { allWays, HostileWorld } from './hostile/run.ts'
import { flags, withPostgres } from './run.ts'

const { only, kind, skip, way: wantedWay, verbose } = flags({ only: '', kind: '', skip: 0, way: '', verbose: false })
const ways = allWays.filter((way) => wantedWay === '' || wantedWay === way)
const offered = kind === '' ? corpus : (kinds[kind] ?? [])
const chosen = offered.filter(({ name }) => name.includes(only)).slice(skip)

await withPostgres(async (databaseUrl) => meetAll(await HostileWorld.make(databaseUrl)))

async function meetAll(world: HostileWorld): Promise<void> {
  let problems = 0
  const slowed: string[] = []
  try {
    await delay(5_000)
    for (const hostile of chosen) {
      for (const finding of await world.meet(hostile, ways)) {
        problems += finding.problems.length
        const { name, way, visits, slowestMs, moreBytes, users, refused } = finding
        const figures = `${visits.length} answers, slowest ${(slowestMs / 1000).toFixed(1)} s, ${(moreBytes / 1024 / 1024).toFixed(0)} MiB more (${users})`
        console.log(
          `${finding.problems.length === 0 ? 'ok  ' : 'BAD '} ${name}, ${way}: ${figures}; ${tellOthers(world, finding.othersMs)}`,
        )
        if (percentile(finding.othersMs, 0.99) > 2 * percentile(world.bystander.quietMs, 0.99))
          slowed.push(`${name}, ${way}`)
        for (const words of refused) console.log(`       refused ${words}`)
        for (const problem of finding.problems) console.log(`     ! ${problem}`)
        if (verbose)
          for (const visit of visits) {
            const { what, status, code, ms } = visit
            const beside = finding.othersBeside(visit)
            const others = `median ${percentile(beside, 0.5).toFixed(0)}, at most ${Math.max(0, ...beside).toFixed(0)} of ${beside.length}`
            console.log(`       ${what}: ${status} ${code ?? ''} ${ms.toFixed(0)} ms; others ${others}`)
          }
      }
      // Quiet moments of the same run, as the floor for other readers' waits.
      await delay(2_000)
    }
    await delay(3_000)
  } finally {
    const { quietMs, duringMs, failures } = world.bystander
    const [quietP99, duringP99] = [percentile(quietMs, 0.99), percentile(duringMs, 0.99)]
    console.log(
      `another project's readers: p99 ${quietP99.toFixed(1)} ms before and between (${quietMs.length}), ${duringP99.toFixed(1)} ms during (${duringMs.length}): ${(duringP99 / quietP99).toFixed(2)}; median ${percentile(quietMs, 0.5).toFixed(1)} and ${percentile(duringMs, 0.5).toFixed(1)} ms; ${failures.length} failed`,
    )
    if (slowed.length > 0) console.log(`waited more than twice as long beside: ${slowed.join('; ')}`)
    if (duringP99 > 2 * quietP99) problems++
    console.log(`${chosen.length} repositories, ${ways.join(' and ')}: ${problems} problems`)
    if (verbose) console.log(world.server.output.slice(-4000))
    await world.close()
  }
  process.exitCode = problems > 0 ? 1 : 0
}

/** The 99th percentile of other readers' waits beside this repository, against all quiet moments so far. */
function tellOthers(world: HostileWorld, ms: number[]): string {
  const quiet = percentile(world.bystander.quietMs, 0.99)
  const during = percentile(ms, 0.99)
  return `others' p99 ${during.toFixed(1)} ms of ${ms.length}, ${(during / quiet).toFixed(2)} x`
}
