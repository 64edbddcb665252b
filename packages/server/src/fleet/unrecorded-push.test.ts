/**
 * A branch may move at the home of its project before that is recorded. git takes a second push of the same commit for
 * done, so from its answer on the branch has to survive the end of that home.
 */
import { afterEach, beforeEach, expect, test } from 'bun:test'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { type Fleet, type FleetServer, makeFleet } from './testing-fleet.ts'
import { countAsGone, FleetProject, takeOver } from './testing-work.ts'

let fleet: Fleet
let ada: FleetServer
let bob: FleetServer

beforeEach(async () => {
  fleet = await makeFleet(['ada', 'bob'])
  ;[ada, bob] = fleet.servers as [FleetServer, FleetServer]
  expect((await ada.boot()).url).not.toBeNull()
  expect((await bob.boot()).url).not.toBeNull()
}, 120_000)
afterEach(() => fleet.close())

test.each(['kill', 'throw'] as const)(
  'a push that is repeated after its record failed (%s) survives the end of the home',
  async (effect) => {
    const project = await FleetProject.make(fleet, ada)
    await ada.kill('SIGKILL')
    expect((await ada.boot({ SVC_FAILPOINTS: `refs.before_record=${effect}@1` })).url).not.toBeNull()
    const commit = await project.commit('late.txt')
    expect((await project.push(ada, 'HEAD:refs/heads/late')).code).not.toBe(0)
    if (effect === 'kill') {
      await ada.kill('SIGKILL')
      expect((await ada.boot()).url).not.toBeNull()
    }
    const again = await project.push(ada, 'HEAD:refs/heads/late')
    expect([again.code, again.errors]).toEqual([0, expect.stringContaining('Everything up-to-date')])

    await ada.kill('SIGKILL')
    await rm(join(fleet.dir, 'ada'), { recursive: true })
    await countAsGone(fleet, 'ada')
    const taken = await takeOver(fleet, bob, 'ada')
    expect(taken.projects).toMatchObject([{ project_id: project.id, outcome: 'taken', missing: [] }])
    expect((await project.tips(bob))['refs/heads/late']).toBe(commit)
  },
  120_000,
)
