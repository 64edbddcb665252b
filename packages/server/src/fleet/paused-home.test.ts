/** A home that is paused in the middle of a merge, and taken over: the merge happens once, and is told once. */
import { afterEach, beforeEach, expect, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { until } from '../testing-until.ts'
import { type Fleet, type FleetServer, makeFleet } from './testing-fleet.ts'
import { FleetProject, takeOver, countAsGone } from './testing-work.ts'

let fleet: Fleet
let ada: FleetServer
let bob: FleetServer
beforeEach(async () => {
  fleet = await makeFleet(['ada', 'bob'])
  ;[ada, bob] = fleet.servers as [FleetServer, FleetServer]
  expect((await bob.boot()).url).not.toBeNull()
}, 120_000)
afterEach(() => fleet.close())

test('what a home records that wakes while it is taken over is taken, too', async () => {
  const file = join(fleet.dir, 'promoting')
  expect((await ada.boot()).url).not.toBeNull()
  const project = await FleetProject.make(fleet, ada)
  await project.replicaIsAt('bob')
  await bob.kill('SIGTERM')
  expect((await bob.boot({ SVC_FAILPOINTS: `promote.before_files=pause:${file}@1` })).url).not.toBeNull()
  await ada.kill('SIGSTOP')
  await countAsGone(fleet, 'ada')
  const taking = takeOver(fleet, bob, 'ada')
  await until('bob has compared its copy', () => existsSync(file))
  await ada.kill('SIGCONT')
  const late = await project.commit('late.txt')
  await until('ada takes the push', async () => (await project.push(ada, 'HEAD:refs/heads/late')).code === 0)
  await rm(file)
  expect((await taking).projects).toMatchObject([{ outcome: 'taken', missing: [] }])
  expect((await project.tips(bob))['refs/heads/late']).toBe(late)
  expect(await standing('ada')).toEqual({ keeps_replicas: true, taken_over_at: null })
}, 120_000)

test('a server that wakes after it was taken over says so in its log, and keeps copies again', async () => {
  const booted = await ada.boot()
  const project = await FleetProject.make(fleet, ada)
  await project.replicaIsAt('bob')
  await ada.kill('SIGSTOP')
  await countAsGone(fleet, 'ada')
  expect((await takeOver(fleet, bob, 'ada')).projects).toMatchObject([{ outcome: 'taken', missing: [] }])
  expect((await standing('ada')).keeps_replicas).toBe(false)
  await ada.kill('SIGCONT')
  await until('ada to be a server like any other', async () => (await standing('ada')).keeps_replicas)
  await project.replicaIsAt('ada')
  await ada.kill('SIGTERM')
  expect(await booted.errors()).toContain('were taken over while it was paused')
}, 120_000)

async function standing(name: string) {
  const rows = await fleet.query<{ keeps_replicas: boolean; taken_over_at: string | null }>(
    'select keeps_replicas, taken_over_at from servers where server_name = $1',
    [name],
  )
  return rows[0]!
}

/** `isMerged`: whether it was recorded before the pause. */
test.each([
  ['merge.before_push', false],
  ['merge.after_push', false],
  ['refs.before_record', false],
  ['refs.after_record', true],
] as const)(
  'merges once when its home is paused at %s and taken over',
  async (point, isMerged) => {
    const file = join(fleet.dir, 'paused')
    expect((await ada.boot()).url).not.toBeNull()
    const project = await FleetProject.make(fleet, ada)
    const { cr_id, head } = await project.changeRequest(ada, 'topic')
    await ada.kill('SIGTERM')
    expect((await ada.boot({ SVC_FAILPOINTS: `${point}=pause:${file}` })).url).not.toBeNull()
    const merge = `/change-requests/${cr_id}/merge`
    const merging = project.request(ada, 'POST', merge)
    await until(`${point} is reached`, () => existsSync(file))
    await ada.kill('SIGSTOP')
    await countAsGone(fleet, 'ada')
    const taken = await takeOver(fleet, bob, 'ada')
    expect(taken.projects).toMatchObject([{ project_id: project.id, outcome: 'taken', missing: [] }])
    const read = async () =>
      (await project.ask<{ change_request: { status: string } }>(bob, 'GET', `/change-requests/${cr_id}`))
        .change_request
    expect((await read()).status).toBe(isMerged ? 'merged' : 'open')

    await rm(file)
    await ada.kill('SIGCONT')
    const answer = await merging
    // Either its transaction finds the other home, or the take-over has ended its connection.
    expect(answer.status).toBe(isMerged ? 200 : 503)

    const again = await project.ask<{ change_request: { status: string } }>(bob, 'POST', merge).catch(String)
    if (!isMerged) expect(again).toMatchObject({ change_request: { status: 'merged' } })
    expect((await read()).status).toBe('merged')
    await project.git('fetch', '-q', `${bob.url}/v1/projects/${project.id}/git`, 'main')
    const log = await project.git('log', '--format=%P', '--first-parent', 'FETCH_HEAD')
    expect(log.output.split('\n').filter((parents) => parents.endsWith(head)).length).toBeLessThanOrEqual(1)
    expect((await project.git('merge-base', '--is-ancestor', head, 'FETCH_HEAD')).code).toBe(0)
    // What the old home says now comes from the new one.
    expect((await project.tips(ada))['refs/heads/main']).toBe((await project.tips(bob))['refs/heads/main']!)
  },
  120_000,
)
