/** A short run of `npm run torture -- hostile`: repositories that try to run programs, and objects that git would not write. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { migrate } from '../../packages/server/src/db/migrate.ts'
import { createTestDatabase } from '../../packages/server/src/db/testing-cluster.ts'
import { corpus } from './hostile/corpus.ts'
import { HostileWorld } from './hostile/run.ts'

let world: HostileWorld
let database: Awaited<ReturnType<typeof createTestDatabase>>
beforeAll(async () => {
  database = await createTestDatabase({ name: 'hostile', prepare: migrate })
  world = await HostileWorld.make(database.url)
}, 120_000)
afterAll(async () => {
  await world.close()
  await database.drop()
}, 120_000)

const small = corpus.filter((hostile) => hostile.small)

test.each(small.map((hostile) => [hostile.name, hostile] as const))(
  'reads a hostile repository safely: %s',
  async (_, hostile) => {
    for (const finding of await world.meet(hostile, ['raw', 'served'])) {
      // Only the full run checks time and memory; here other tests use the machine as well.
      const wrong = finding.problems.filter((problem) => !/: took [\d.]+ s$|MiB more$/.test(problem))
      expect([finding.way, ...wrong]).toEqual([finding.way])
      expect(finding.visits.length).toBeGreaterThan(10)
    }
  },
  120_000,
)

test('the traps detect a program that would run', async () => {
  const env = { PATH: world.traps.path }
  Bun.spawnSync([world.traps.canary, 'x'], { env: { PATH: process.env.PATH ?? '' } })
  Bun.spawnSync(['/usr/bin/git', '-c', 'alias.x=!gpg --evil', 'x'], { env })
  const touched = (await world.traps.touched()).join('\n')
  expect(touched).toContain('bin/canary x')
  expect(touched).toContain('bin/gpg --evil')
})
