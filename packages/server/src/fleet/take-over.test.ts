/** What was acknowledged survives the end of its server and of all its data. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { type Fleet, type FleetServer, makeFleet } from './testing-fleet.ts'
import { until } from '../testing-until.ts'
import { FleetProject, takeOver, countAsGone } from './testing-work.ts'

let fleet: Fleet
let ada: FleetServer
let bob: FleetServer

beforeAll(async () => {
  fleet = await makeFleet(['ada', 'bob'])
  ;[ada, bob] = fleet.servers as [FleetServer, FleetServer]
  expect((await ada.boot()).url).not.toBeNull()
  expect((await bob.boot()).url).not.toBeNull()
}, 120_000)
afterAll(() => fleet.close())

test('pushes and merges survive the end of the home with its whole data folder', async () => {
  const project = await FleetProject.make(fleet, ada)
  expect((await project.home()).home).toBe('ada')
  expect((await project.replica())?.server).toBe('bob')
  const { cr_id } = await project.changeRequest(bob, 'topic')
  await project.ask(bob, 'POST', `/change-requests/${cr_id}/merge`)
  await project.git('checkout', '-q', 'main')
  const late = await project.commit('late.txt')
  expect((await project.push(ada, `HEAD:refs/heads/late`)).code).toBe(0)
  const before = await project.tips(ada)

  const running = await fleet.request(bob, 'POST', '/v1/servers/ada/take-over')
  const refused = (await running.json()) as { code: string; hint: string }
  expect([running.status, refused.code]).toEqual([409, 'conflict'])
  expect(refused.hint).toContain('counts as gone 5 seconds after the end of its process')
  await ada.kill('SIGKILL')
  await rm(join(fleet.dir, 'ada'), { recursive: true })
  await countAsGone(fleet, 'ada')
  const taken = await takeOver(fleet, bob, 'ada')
  expect(taken.projects).toMatchObject([{ project_id: project.id, outcome: 'taken', server: 'bob', missing: [] }])
  expect(await project.home()).toEqual({ home: 'bob', home_epoch: 2 })
  const after = await project.tips(bob)
  expect(after).toEqual(before)
  expect(after['refs/heads/late']).toBe(late)
  const diff = await project.request(bob, 'GET', `/change-requests/${cr_id}/diff`)
  expect([diff.status, (await diff.text()).includes('topic.txt')]).toEqual([200, true])
  expect((await project.push(bob, 'HEAD:refs/heads/later')).code).toBe(0)
}, 120_000)

test('refuses to take over a server that was never there, and a caller who owns nothing here', async () => {
  const unknown = await fleet.request(bob, 'POST', '/v1/servers/eve/take-over', { body: {} })
  expect([unknown.status, ((await unknown.json()) as { code: string }).code]).toEqual([404, 'not_found'])
  const copies = await fleet.request(bob, 'GET', '/v1/copies')
  expect(((await copies.json()) as { count: number }).count).toBeGreaterThan(0)
})

test('the old server starts without its projects, and copies what it is not the home of', async () => {
  expect((await ada.boot()).url).not.toBeNull()
  const [project] = await fleet.query<{ project_id: string; home: string }>('select project_id, home from projects')
  expect(project!.home).toBe('bob')
  await until('a copy at ada', async () => {
    const rows = await fleet.query('select 1 from project_replicas where server = $1 and epoch = 2', ['ada'])
    return rows.length === 1
  })
}, 120_000)

test('only a server may read or write a copy', async () => {
  const [project] = await fleet.query<{ project_id: string }>('select project_id from projects')
  const path = `/v1/replicas/${project!.project_id}`
  for (const [method, at] of [
    ['GET', path],
    ['POST', `${path}/fill?epoch=2&seq=9`],
    ['POST', `${path}/objects?epoch=2`],
    ['POST', `${path}/files?epoch=2`],
    ['POST', `${path}/promote`],
  ] as const) {
    const answer = await fleet.request(ada, method, at, method === 'GET' ? {} : { body: {} })
    expect([at, answer.status]).toEqual([at, 404])
  }
})

test('a request that continues behind a project lists only those after it, also when that one was taken', async () => {
  const [first, second] = [await FleetProject.make(fleet, ada), await FleetProject.make(fleet, ada)]
  await ada.kill('SIGKILL')
  await countAsGone(fleet, 'ada')
  const behindFirst = await takeOver(fleet, bob, 'ada', { after: first.id })
  expect(behindFirst.projects).toMatchObject([{ project_id: second.id, outcome: 'taken' }])
  expect((await takeOver(fleet, bob, 'ada', { after: second.id })).projects).toEqual([])
  expect((await takeOver(fleet, bob, 'ada')).projects).toMatchObject([{ project_id: first.id, outcome: 'taken' }])
}, 120_000)
