/**
 * `npm run torture -- merges [--kills N] [--minutes N] [--seed N] [--servers N] [--only managed|external|file]` kills the
 * server at every step of a merge and checks what remains.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { startEmbeddedPostgres } from '../../packages/server/src/db/embedded/postgres.ts'
import { check } from './check.ts'
import { eachPoint, killAgainAndAgain, type KillPlan, seededRandom, startClients } from './kills.ts'
import { TortureServer } from './server.ts'
import { repositoryKinds, World } from './world.ts'

const { values } = parseArgs({
  options: {
    kills: { type: 'string', default: '1000' },
    // Whichever limit comes first; the checks cover what was done until then.
    minutes: { type: 'string', default: '600' },
    seed: { type: 'string', default: '1' },
    clients: { type: 'string', default: '2' },
    servers: { type: 'string', default: '1' },
    only: { type: 'string' },
  },
})
const kills = Number(values.kills)
const random = seededRandom(Number(values.seed))

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

const home = await mkdtemp(join(tmpdir(), 'svc-merges-'))
const quiet = { info() {}, debug() {}, error: (_: object, message: string) => process.stderr.write(`${message}\n`) }
// Several servers share a database, which must not die with one of them.
const cluster =
  values.servers === '1' ? null : await startEmbeddedPostgres({ dataDir: join(home, 'postgres'), log: quiet })
const shared = cluster === null ? {} : { databaseUrl: cluster.connectionString }
const world = await World.make(await TortureServer.make(shared))
await world.server.start()
await world.makeProjects(repositoryKinds.filter((kind) => values.only === undefined || kind === values.only))
for (let n = 1; n < Number(values.servers); n++) {
  const other = await TortureServer.make({ ...shared, beside: world.server })
  await other.start()
  world.servers.push(other)
}
const enough = new AbortController()
const clients = startClients(world, { perProject: Number(values.clients), enough: enough.signal, random })
const began = performance.now()
let failed = 1
try {
  const report = await Promise.race([
    killAgainAndAgain(world, plans(), {
      random,
      onKill: ({ kills: dead }) => {
        if (dead % 50 === 0) console.log(`${dead} killed, ${seconds()} s`)
      },
    }),
    clients.then(() => {
      throw new Error('The clients ended before the kills did.')
    }),
  ])
  enough.abort()
  await clients
  const findings = await check(world)
  // The first start created the database; every later one followed a kill.
  const ready = world.servers.flatMap(({ readyMs }) => readyMs.slice(1)).toSorted((a, b) => a - b)
  console.log(JSON.stringify(report, null, 2))
  console.log(`${report.kills} killed, ${Object.keys(report.atPoint).length} failpoints, ${seconds()} s`)
  console.log(`ready after kill -9: p50 ${ms(ready, 0.5)} ms, p99 ${ms(ready, 0.99)} ms, slowest ${ms(ready, 1)} ms`)
  console.log(
    `${findings.merged} merged, ${findings.acknowledged} acknowledged, ${findings.abandoned} attempts given up, ${findings.outsidePushes} outside pushes`,
  )
  console.log(`${findings.violations.length} violations`)
  for (const violation of findings.violations.slice(0, 50)) console.log(`  ${violation}`)
  failed = findings.violations.length > 0 ? 1 : 0
} finally {
  if (failed > 0) {
    process.stdout.write(`history: ${world.history.path} (kept)\n${world.server.output.slice(-5000)}\n`)
    for (const server of world.servers) if (server.isRunning) await server.kill()
  } else await world.close()
  await cluster?.stop()
  await rm(home, { recursive: true, force: true })
}
process.exit(failed)

function isLate(): boolean {
  return performance.now() - began > Number(values.minutes) * 60_000
}

function seconds(): string {
  return ((performance.now() - began) / 1000).toFixed(1)
}

function ms(sorted: number[], part: number): string {
  return (sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0).toFixed(0)
}
