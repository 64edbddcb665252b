/** A short run of `npm run torture -- races`: two servers in their own processes on one database. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { createTestDatabase, type TestDatabase } from '../../packages/server/src/db/testing-cluster.ts'
import { check } from './check.ts'
import { agentPushesDuringMerge, manyIntoOneBase, manyMergersOfOne, outsiderDuringMerges } from './race.ts'
import { sharedTortureProgram } from './program.ts'
import { TortureServer } from './server.ts'
import { World } from './world.ts'

let database: TestDatabase
let world: World
beforeAll(async () => {
  database = await createTestDatabase({ name: 'empty', prepare: async () => {} })
  const shared = { databaseUrl: database.url, ...(await sharedTortureProgram()) }
  const first = await TortureServer.make(shared)
  world = await World.make(first)
  await first.start()
  await world.makeProjects()
  const second = await TortureServer.make({ ...shared, beside: first })
  await second.start()
  world.servers.push(second)
}, 120_000)
afterAll(async () => {
  await world.close()
  await database.drop()
}, 120_000)

describe.each([
  ['managed', 0],
  ['external', 1],
  ['file', 2],
] as const)('two servers and a repository: %s', (_, n) => {
  const project = () => world.projects[n]!
  test('all concurrent merges into one base succeed', async () => {
    expect(await manyIntoOneBase(world, project(), n === 0 ? 30 : 10)).toEqual([])
  }, 120_000)
  test('one of twenty concurrent merges of one change request succeeds', async () => {
    expect(await manyMergersOfOne(world, project(), 20)).toEqual([])
  }, 120_000)
  test('no outside push is lost', async () => {
    expect(await outsiderDuringMerges(world, project(), 3)).toEqual([])
  }, 120_000)
  test('merges no push of an agent that nobody reviewed', async () => {
    for (let round = 0; round < 5; round++)
      expect((await agentPushesDuringMerge(world, project())).problems).toEqual([])
  }, 120_000)
})

test('history, database and git agree after all races', async () => {
  const findings = await check(world)
  expect(findings.violations).toEqual([])
  expect(findings.outsidePushes).toBeGreaterThan(0)
}, 120_000)
