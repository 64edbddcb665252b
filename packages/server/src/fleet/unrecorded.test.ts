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

async function pushes(...refs: string[]): Promise<void> {
  expect(await project.push(ada, ...refs)).toMatchObject({ code: 0 })
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

/** Puts the disk of ada back to how it is now, once ada has served `change` and its server was killed. */
async function putBack(change: () => Promise<unknown>): Promise<void> {
  const [data, earlier] = [join(fleet.dir, 'ada'), join(fleet.dir, 'ada-earlier')]
  await ada.kill('SIGTERM')
  await cp(data, earlier, { recursive: true, verbatimSymlinks: true })
  expect((await ada.boot()).url).not.toBeNull()
  await change()
  await ada.kill('SIGKILL')
  await rm(data, { recursive: true })
  await cp(earlier, data, { recursive: true, verbatimSymlinks: true })
}

test('a home whose disk is of an earlier time and has the commits of a merge does not start, and its copy has the merge', async () => {
  const { cr_id, head } = await project.changeRequest(ada, 'topic')
  await putBack(() => project.ask(ada, 'POST', `/change-requests/${cr_id}/merge`))
  const late = await ada.boot()
  expect(late.url).toBeNull()
  expect(await late.errors()).toContain('is not the newest')
  await countAsGone(fleet, 'ada')
  expect((await takeOver(fleet, bob, 'ada')).projects).toMatchObject([{ outcome: 'taken', missing: [] }])
  expect((await project.tips(bob))['refs/heads/main']).toBe(head)
}, 180_000)

const withoutNewCommits: [string, string[]][] = [
  ['a new branch', ['HEAD:refs/heads/release']],
  ['a new tag', ['HEAD:refs/tags/v1']],
  ['the deletion of a branch', [':refs/heads/old']],
]
test.each(withoutNewCommits)(
  'a home whose disk is of a time before %s does not start, and its copy has the change',
  async (_, refs) => {
    await project.commit('b.txt')
    await pushes('HEAD:refs/heads/topic', 'HEAD~1:refs/heads/old')
    let after = {}
    await putBack(async () => {
      await pushes(...refs)
      after = await project.tips(ada)
    })
    const late = await ada.boot()
    expect(late.url).toBeNull()
    expect(await late.errors()).toContain('is not the newest')
    await countAsGone(fleet, 'ada')
    expect((await takeOver(fleet, bob, 'ada')).projects).toMatchObject([{ outcome: 'taken', missing: [] }])
    expect(await project.tips(bob)).toEqual(after)
  },
  180_000,
)

test('a home whose disk is of an earlier time and has every branch and tag as it was recorded last starts', async () => {
  await project.commit('b.txt')
  await pushes('HEAD:refs/tags/v1', 'HEAD~1:refs/heads/old', 'HEAD:refs/heads/back')
  await pushes('HEAD:refs/heads/release', ':refs/heads/old', '+HEAD~1:refs/tags/v1', ':refs/heads/back')
  await pushes('HEAD~1:refs/heads/back')
  const before = await project.tips(ada)
  // Its mark is that of the start before these changes.
  const marks = await Bun.file(join(fleet.dir, 'ada', 'start-marks')).text()
  await putBack(async () => {})
  await Bun.write(join(fleet.dir, 'ada', 'start-marks'), marks)
  expect((await ada.boot()).url).not.toBeNull()
  expect(await project.tips(ada)).toEqual(before)
  await pushes('HEAD:refs/heads/after')
}, 180_000)

test('a home whose disk is of an earlier time records nothing, and its copy keeps everything', async () => {
  let late = ''
  await putBack(async () => (late = await pushed(ada, 'late')))
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
  // Nor does it go to another server in its state.
  await project.ask(bob, 'POST', '/home', { server: 'bob', force: false })
  const move = await until('the end of the move', async () => {
    const [last] = await fleet.query<{ phase: string; error: string }>('select phase, error from project_moves')
    return last?.phase === 'done' || last?.phase === 'failed' ? last : null
  })
  expect(move).toMatchObject({ phase: 'failed', error: expect.stringContaining('svc self-host take-over ada') })
  expect(await project.home()).toMatchObject({ home: 'ada' })

  await ada.kill('SIGTERM')
  expect((await takeOver(fleet, bob, 'ada')).projects).toMatchObject([{ outcome: 'taken', missing: [] }])
  expect((await project.tips(bob))['refs/heads/late']).toBe(late)
}, 180_000)
