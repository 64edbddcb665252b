/** A short run of `npm run torture -- database` with the embedded PostgreSQL. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { join } from 'node:path'
import { tortureDatabase } from './database-run.ts'
import { TortureServer } from './server.ts'
import { World } from './world.ts'

let world: World
beforeAll(async () => {
  world = await World.make(await TortureServer.make())
  await world.server.start()
  await world.makeProjects(['managed'])
}, 120_000)
afterAll(() => world.close(), 120_000)

test('a server survives a database that dies, crashes, hangs and drops connections, and reports every merge truthfully', async () => {
  const database = { dataDir: join(world.server.dataDir, 'postgres'), url: await world.server.databaseUrl() }
  const report = await tortureDatabase(world, { database, count: 6, seed: 2, perProject: 2 })
  expect(report.problems).toEqual([])
  expect(report.harmed).toEqual({ killed: 1, crashed: 1, restarted: 0, frozen: 1, cut: 3 })
  expect(report.merged).toBe(report.acknowledged)
  expect(report.merged).toBeGreaterThan(0)
}, 240_000)
