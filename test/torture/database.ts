/**
 * `npm run torture -- database [--harms N] [--servers N] [--seed N] [--clients N] [--only managed|external|file]`: PostgreSQL
 * dies, crashes, freezes and loses connections while change requests are opened and merged.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { superviseEmbeddedPostgres } from '../../packages/server/src/db/embedded/supervise.ts'
import { tortureDatabase } from './database-run.ts'
import { TortureServer } from './server.ts'
import { repositoryKinds, World } from './world.ts'

const { values } = parseArgs({
  options: {
    harms: { type: 'string', default: '200' },
    servers: { type: 'string', default: '2' },
    clients: { type: 'string', default: '2' },
    seed: { type: 'string', default: '1' },
    only: { type: 'string' },
  },
})
const home = await mkdtemp(join(tmpdir(), 'svc-database-'))
const dataDir = join(home, 'postgres')
const quiet = { info() {}, debug() {}, error() {} }
const database = await superviseEmbeddedPostgres({ dataDir, log: quiet })
const url = database.connectionString
const world = await World.make(await TortureServer.make({ databaseUrl: url }))
let problems: string[] = ['The run did not come to its end.']
try {
  await world.server.start()
  await world.makeProjects(repositoryKinds.filter((kind) => values.only === undefined || kind === values.only))
  for (let n = 1; n < Number(values.servers); n++) {
    const other = await TortureServer.make({ databaseUrl: url, beside: world.server })
    await other.start()
    world.servers.push(other)
  }
  const began = performance.now()
  const { problems: found, ...did } = await tortureDatabase(world, {
    database: { dataDir, url },
    count: Number(values.harms),
    seed: Number(values.seed),
    perProject: Number(values.clients),
    say: (line) => console.log(line),
  })
  console.log(JSON.stringify(did, null, 2))
  console.log(`${((performance.now() - began) / 60_000).toFixed(1)} min`)
  console.log(`${found.length} problems`)
  for (const problem of found.slice(0, 50)) console.log(`  ${problem.slice(0, 600)}`)
  problems = found
} finally {
  if (problems.length > 0) {
    process.stdout.write(`history: ${world.history.path} (kept)\n`)
    for (const server of world.servers) {
      const errors = server.output.split('\n').filter((line) => line.startsWith('{"level":50'))
      process.stdout.write(`${errors.join('\n').slice(-5000)}\n`)
      if (server.isRunning) await server.kill()
    }
  } else await world.close()
  await database.stop()
  await rm(home, { recursive: true, force: true })
}
process.exit(problems.length > 0 ? 1 : 0)
