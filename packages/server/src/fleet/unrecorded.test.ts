/** Changes that a home makes without recording them, and a home whose disk is of an earlier time: no copy passes for current then. */
import { afterEach, beforeEach, expect, test } from 'bun:test'
import { cp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { until } from '../testing-until.ts'
import { type Fleet, type FleetServer, makeFleet } from './testing-fleet.ts'
import { countAsGone, FleetProject, takeOver, uncopied } from './testing-work.ts'

let fleet: Fleet
let ada: FleetServer
let bob: FleetServer
let project: FleetProject
beforeEach(async () => {
  fleet = await makeFleet(['ada', 'bob'])
  ;[ada, bob] = fleet.servers as [FleetServer, FleetServer]
  for (const server of [ada, bob]) expect((await server.boot()).url).not.toBeNull()
  project = await FleetProject.make(fleet, ada)
  await project.replicaIsAt('bob')
}, 120_000)
afterEach(() => fleet.close())

const copies = (at: FleetServer) => uncopied(fleet, at)

async function pushed(at: FleetServer, branch: string): Promise<string> {
  const sha = await project.commit(`${branch}.txt`)
  expect(await project.push(at, `HEAD:refs/heads/${branch}`)).toMatchObject({ code: 0 })
  return sha
}

const ways: [string, Record<string, string>][] = [
  ['without copies', { SVC_REPLICA: 'none' }],
  ['alone', { SVC_PEER_URL: '' }],
]
test.each(ways)(
  'a copy is not current once its home has worked %s',
  async (_, env) => {
    await ada.kill('SIGTERM')
    if (env['SVC_PEER_URL'] === '') await bob.kill('SIGTERM')
    expect((await ada.boot(env)).url).not.toBeNull()
    const before = await pushed(ada, 'unrecorded')
    if (env['SVC_PEER_URL'] === '') {
      await ada.kill('SIGTERM')
      expect((await bob.boot()).url).not.toBeNull()
    }
    expect(await copies(bob)).toMatchObject([{ project_id: project.id, replica: null }])

    // Gone before it made another copy.
    await ada.kill('SIGKILL')
    await countAsGone(fleet, 'ada')
    const refused = await takeOver(fleet, bob, 'ada')
    expect(refused.projects).toMatchObject([{ outcome: 'would-lose', is_stale: true }])

    expect((await ada.boot()).url).not.toBeNull()
    await project.replicaIsAt('bob')
    expect(await copies(bob)).toEqual([])
    await ada.kill('SIGKILL')
    await countAsGone(fleet, 'ada')
    expect((await takeOver(fleet, bob, 'ada')).projects).toMatchObject([{ outcome: 'taken', missing: [] }])
    expect((await project.tips(bob))['refs/heads/unrecorded']).toBe(before)
  },
  180_000,
)

test('a home whose disk is of an earlier time and has the commits of a merge does not start, and its copy has the merge', async () => {
  const { cr_id, head } = await project.changeRequest(ada, 'topic')
  await ada.kill('SIGTERM')
  const [data, earlier] = [join(fleet.dir, 'ada'), join(fleet.dir, 'ada-earlier')]
  await cp(data, earlier, { recursive: true, verbatimSymlinks: true })
  expect((await ada.boot()).url).not.toBeNull()
  await project.ask(ada, 'POST', `/change-requests/${cr_id}/merge`)
  await ada.kill('SIGKILL')
  await rm(data, { recursive: true })
  await cp(earlier, data, { recursive: true, verbatimSymlinks: true })
  const late = await ada.boot()
  expect(late.url).toBeNull()
  expect(await late.errors()).toContain('is not the newest')
  await countAsGone(fleet, 'ada')
  expect((await takeOver(fleet, bob, 'ada')).projects).toMatchObject([{ outcome: 'taken', missing: [] }])
  expect((await project.tips(bob))['refs/heads/main']).toBe(head)
}, 180_000)

test('a home whose disk is of an earlier time records nothing, and its copy keeps everything', async () => {
  await ada.kill('SIGTERM')
  const [data, earlier] = [join(fleet.dir, 'ada'), join(fleet.dir, 'ada-earlier')]
  await cp(data, earlier, { recursive: true, verbatimSymlinks: true })
  expect((await ada.boot()).url).not.toBeNull()
  const late = await pushed(ada, 'late')
  await ada.kill('SIGKILL')
  await rm(data, { recursive: true })
  await cp(earlier, data, { recursive: true, verbatimSymlinks: true })
  expect((await ada.boot()).url).not.toBeNull()

  await project.commit('after.txt')
  const refused = await project.push(ada, 'HEAD:refs/heads/after')
  expect(refused.code).not.toBe(0)
  expect(refused.errors).toContain('lacks commits that were acknowledged')
  // Nor does it replace the copy.
  await fleet.query('delete from project_replicas')
  await until('the home to refuse', async () => (await copies(bob))[0]?.error?.includes('of an earlier time'))
  const doctor = await fleet.request(ada, 'GET', '/v1/doctor')
  expect(await doctor.text()).toContain('1 project whose repository on this disk is of an earlier time')

  await ada.kill('SIGTERM')
  expect((await takeOver(fleet, bob, 'ada')).projects).toMatchObject([{ outcome: 'taken', missing: [] }])
  expect((await project.tips(bob))['refs/heads/late']).toBe(late)
}, 180_000)
