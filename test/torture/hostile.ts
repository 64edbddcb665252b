/** `npm run torture -- hostile [--kind programs|malformed|bombs] [--only text] [--skip N] [--way pushed|served] [--verbose]`: repositories made to hurt, pushed here and served from a host. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { startEmbeddedPostgres } from '../../packages/server/src/db/embedded.ts'
import { percentile } from './hostile/bystander.ts'
import { corpus, kinds } from './hostile/corpus.ts'
import { HostileWorld, type Way } from './hostile/run.ts'

const { values } = parseArgs({
  options: {
    only: { type: 'string', default: '' },
    kind: { type: 'string' },
    skip: { type: 'string', default: '0' },
    way: { type: 'string' },
    verbose: { type: 'boolean', default: false },
  },
})
const ways = (['pushed', 'served'] as Way[]).filter((way) => values.way === undefined || values.way === way)
const offered = values.kind === undefined ? corpus : (kinds[values.kind] ?? [])
const chosen = offered.filter(({ name }) => name.includes(values.only)).slice(Number(values.skip))

const home = await mkdtemp(join(tmpdir(), 'svc-hostile-home-'))
const quiet = { info() {}, debug() {}, error: (_: object, message: string) => process.stderr.write(`${message}\n`) }
const cluster = await startEmbeddedPostgres({ dataDir: join(home, 'postgres'), log: quiet })
const world = await HostileWorld.make(cluster.connectionString)
let problems = 0
try {
  await delay(5_000)
  for (const hostile of chosen) {
    for (const finding of await world.meet(hostile, ways)) {
      problems += finding.problems.length
      const { name, way, visits, slowestMs, moreBytes, refused } = finding
      const figures = `${visits.length} answers, slowest ${(slowestMs / 1000).toFixed(1)} s, ${(moreBytes / 1024 / 1024).toFixed(0)} MiB more`
      console.log(`${finding.problems.length === 0 ? 'ok  ' : 'BAD '} ${name}, ${way}: ${figures}`)
      for (const words of refused) console.log(`       refused ${words}`)
      for (const problem of finding.problems) console.log(`     ! ${problem}`)
      if (values.verbose)
        for (const { what, status, code, ms } of visits)
          console.log(`       ${what}: ${status} ${code ?? ''} ${ms.toFixed(0)} ms`)
    }
    // As long as it lasts, so that quiet moments are as many as others.
    await delay(500)
  }
  await delay(3_000)
} finally {
  const { quietMs, duringMs, failures } = world.bystander
  const [quietP99, duringP99] = [percentile(quietMs, 0.99), percentile(duringMs, 0.99)]
  console.log(
    `another project's readers: p99 ${quietP99.toFixed(1)} ms before and between (${quietMs.length}), ${duringP99.toFixed(1)} ms during (${duringMs.length}): ${(duringP99 / quietP99).toFixed(2)}; median ${percentile(quietMs, 0.5).toFixed(1)} and ${percentile(duringMs, 0.5).toFixed(1)} ms; ${failures.length} failed`,
  )
  console.log(`${chosen.length} repositories, ${ways.join(' and ')}: ${problems} problems`)
  if (values.verbose) console.log(world.server.output.slice(-4000))
  await world.close()
  await cluster.stop()
  await rm(home, { recursive: true, force: true })
}
process.exitCode = problems > 0 ? 1 : 0
