/** A short run of `npm run torture -- merges`: the server dies once at every failpoint of a merge. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import pg from 'pg'
import { check } from './check.ts'
import { eachPoint, killAgainAndAgain, startClients } from './kills.ts'
import { sharedTortureProgram } from './program.ts'
import { randomFrom } from './random.ts'
import { pointsOf } from './scenarios.ts'
import { TortureServer } from './server.ts'
import { World } from './world.ts'

let world: World
beforeAll(async () => {
  world = await World.make(await TortureServer.make(await sharedTortureProgram()))
  await world.server.start()
  await world.makeProjects()
}, 120_000)
afterAll(() => world.close(), 120_000)

test('every acknowledged merge is on its base once after a kill at every failpoint', async () => {
  const random = randomFrom(1)
  const enough = new AbortController()
  const clients = startClients(world, { perProject: 2, enough: enough.signal, random })
  const [report] = await Promise.all([
    killAgainAndAgain(
      world,
      eachPoint(() => 1),
      { random },
    ).finally(() => enough.abort()),
    clients,
  ])
  expect(report.missed).toEqual({})
  expect(Object.keys(report.atPoint).toSorted()).toEqual(pointsOf('merges').toSorted())
  const findings = await check(world)
  expect(findings.violations).toEqual([])
  expect(findings.acknowledged).toBeGreaterThan(5)
  expect(findings.merged).toBe(findings.acknowledged)
  const slowest = Math.max(...world.server.readyMs.slice(1))
  console.log(`ready after kill -9: ${slowest.toFixed(0)} ms at most in ${report.kills} starts`)
}, 240_000)

test('the checker detects planted errors', async () => {
  const [one, two] = world.changes.filter((change) => change.merge !== null)
  const client = new pg.Client({ connectionString: await world.server.databaseUrl() })
  await client.connect()
  const wrongs = [
    [`update change_requests set head_commit_sha = base_commit_sha where cr_id = '${one!.crId}'`, 'another head'],
    [
      `update change_requests set merge_commit_sha = '${'1'.repeat(40)}' where cr_id = '${two!.crId}'`,
      'not on the base',
    ],
    [`update merge_attempts set state = 'intended' where cr_id = '${two!.crId}' and state = 'landed'`, 'never settled'],
    [`update change_requests set head_ref = 'gone' where cr_id = '${one!.crId}'`, 'no row of its id'],
  ]
  try {
    for (const [statement, complaint] of wrongs) {
      await client.query(statement!)
      expect((await check(world)).violations.join('\n')).toContain(complaint!)
    }
  } finally {
    await client.end()
  }
}, 120_000)
