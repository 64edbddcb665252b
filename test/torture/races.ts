/**
 * `npm run torture -- races [--crs N] [--contests N] [--rounds N] [--only managed|external|file]` runs many clients at once
 * against one server and against two.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { startEmbeddedPostgres } from '../../packages/server/src/db/embedded/postgres.ts'
import { check } from './check.ts'
import { agentPushesDuringMerge, manyIntoOneBase, manyMergersOfOne, outsiderDuringMerges } from './race.ts'
import { TortureServer } from './server.ts'
import { repositoryKinds, World } from './world.ts'

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '1000' },
    crs: { type: 'string', default: '100' },
    contests: { type: 'string', default: '50' },
    only: { type: 'string' },
  },
})
const rounds = Number(values.rounds)
const crs = Number(values.crs)
const contests = Number(values.contests)

const home = await mkdtemp(join(tmpdir(), 'svc-races-'))
const quiet = { info() {}, debug() {}, error: (_: object, message: string) => process.stderr.write(`${message}\n`) }
const cluster = await startEmbeddedPostgres({ dataDir: join(home, 'postgres'), log: quiet })
const first = await TortureServer.make({ databaseUrl: cluster.connectionString })
const second = await TortureServer.make({ databaseUrl: cluster.connectionString, beside: first })
const world = await World.make(first)
let problems = 0
try {
  await first.start()
  await second.start()
  await world.makeProjects(repositoryKinds.filter((kind) => values.only === undefined || kind === values.only))
  // From here on every client alternates between the servers.
  world.servers.push(second)
  for (const project of world.projects) {
    await run(`${crs} change requests into one base at once, ${project.kind}`, () =>
      manyIntoOneBase(world, project, crs),
    )
    await run(`20 mergers of one change request, ${contests} times, ${project.kind}`, async () => {
      const found: string[] = []
      for (let n = 0; n < contests; n++) found.push(...(await manyMergersOfOne(world, project, 20)))
      return found
    })
    await run(`an outside pusher during 20 merges, ${project.kind}`, () => outsiderDuringMerges(world, project, 20))
    const count = { merged: 0, refused: 0 }
    await run(`an agent pushes during a merge, ${rounds / 2} times, ${project.kind}`, async () => {
      const found: string[] = []
      for (let n = 0; n < rounds / 2; n++) {
        const { problems: wrong, outcome } = await agentPushesDuringMerge(world, project)
        count[outcome]++
        found.push(...wrong)
      }
      return found
    })
    console.log(`  the merge came first ${count.merged} times, the push ${count.refused} times`)
  }
  await run('history, database and git', async () => (await check(world)).violations)
} finally {
  await world.close()
  await cluster.stop()
  await rm(home, { recursive: true, force: true })
}
process.exitCode = problems > 0 ? 1 : 0

async function run(what: string, race: () => Promise<string[]>): Promise<void> {
  const began = performance.now()
  const found = await race()
  problems += found.length
  console.log(`${what}: ${found.length} problems, ${((performance.now() - began) / 1000).toFixed(1)} s`)
  for (const problem of found.slice(0, 20)) console.log(`  ${problem.slice(0, 600)}`)
}
