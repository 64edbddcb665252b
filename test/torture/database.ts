/**
 * `npm run torture -- database [--harms N] [--servers N] [--seed N] [--clients N] [--only managed|external|file]`: PostgreSQL
 * dies, crashes, freezes and loses connections while change requests are opened and merged.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { superviseEmbeddedPostgres } from '../../packages/server/src/db/embedded/supervise.ts'
import { tortureDatabase } from './database-run.ts'
import { conclude, flags, kindsOf, withServers } from './run.ts'

const { harms, servers, clients, seed, only } = flags({ harms: 200, servers: 2, clients: 2, seed: 1, only: '' })
const home = await mkdtemp(join(tmpdir(), 'svc-database-'))
const dataDir = join(home, 'postgres')
const quiet = { info() {}, debug() {}, error() {} }
const database = await superviseEmbeddedPostgres({ dataDir, log: quiet })
const url = database.connectionString
const wanted = { kinds: kindsOf(only), count: servers, shared: { databaseUrl: url } }
const { problems, ...did } = await withServers(wanted, (world) =>
  tortureDatabase(world, {
    ...{ database: { dataDir, url }, count: harms, seed, perProject: clients },
    say: (line) => console.log(line),
  }),
).finally(async () => {
  await database.stop()
  await rm(home, { recursive: true, force: true })
})
console.log(JSON.stringify(did, null, 2))
conclude(problems)
