/** Operators empty a server before they take it away, and see where projects are. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import type { ProjectHome, Server } from '@svc/contract'
import { until } from '../../testing-until.ts'
import { type Fleet, type FleetServer, makeFleet } from '../testing-fleet.ts'
import { chooseBalance } from './balance.ts'
import { TestProjectOfFleet } from './testing-moves.ts'

setDefaultTimeout(120_000)

let fleet: Fleet
let ada: FleetServer
let bob: FleetServer

beforeAll(async () => {
  fleet = await makeFleet(['ada', 'bob'])
  ;[ada, bob] = fleet.servers as [FleetServer, FleetServer]
  for (const server of [ada, bob]) expect((await server.boot({}, { hasSandboxes: true })).url).not.toBeNull()
})
afterAll(() => fleet.close())

async function servers(): Promise<Map<string, Server>> {
  const answer = await fleet.request(ada, 'GET', '/v1/servers')
  const { servers } = (await answer.json()) as { servers: Server[] }
  return new Map(servers.map((each) => [each.name, each]))
}

async function drain(name: string, body?: object) {
  const answer = await fleet.request(ada, 'POST', `/v1/servers/${name}/drain`, { body })
  return { status: answer.status, body: (await answer.json()) as { code?: string } }
}

test('a drained server gives its projects away, takes none, and both are in the audit log', async () => {
  const projects = []
  for (let n = 0; n < 4; n++) {
    const project = await TestProjectOfFleet.make(fleet, ada)
    const commit = await project.commit()
    expect((await project.push(bob, commit, 'main')).code).toBe(0)
    projects.push({ project, commit })
  }
  const before = await servers()
  expect([before.get('ada')!.projects, before.get('bob')!.projects]).toEqual([2, 2])
  expect(before.get('bob')).toMatchObject({ running: true, reachable: true, keeps_projects: true, draining: false })
  expect(await drain('cyd')).toMatchObject({
    status: 404,
    body: { error: 'There is no server with the name "cyd".', hint: 'svc self-host servers lists them.' },
  })
  expect(await drain('bob')).toMatchObject({ status: 200 })
  expect(await drain('ada')).toMatchObject({ status: 409, body: { code: 'conflict' } })
  await until('bob is empty', async () => (await servers()).get('bob')!.projects === 0)
  for (const { project, commit } of projects) {
    expect((await project.branches(bob)).get('main')).toBe(commit)
    expect(await project.request<ProjectHome>(bob, 'GET', '/home')).toMatchObject({ body: { server: 'ada' } })
  }
  const late = await TestProjectOfFleet.make(fleet, bob)
  expect(await late.request<ProjectHome>(bob, 'GET', '/home')).toMatchObject({ body: { server: 'ada', move: null } })
  expect(await late.request(bob, 'POST', '/home', { server: 'bob' })).toMatchObject({ status: 409 })
  expect(await drain('bob', { off: true })).toMatchObject({ status: 200 })
  await late.move(bob, bob)
  expect(await late.ended()).toMatchObject({ phase: 'done', home: 'bob' })
  const audited = await fleet.query<{ action: string }>(
    "select action from audit_events where action in ('server.drain', 'server.end_drain', 'project.move') order by event_id",
  )
  expect(audited.map(({ action }) => action)).toEqual(['server.drain', 'server.end_drain', 'project.move'])
})

test('projects whose agents work, as many as they are, hold up no project at rest', async () => {
  const working = []
  for (let n = 0; n < 5; n++) working.push(await withSession())
  const resting = await withSession()
  const [unmoved, ...waiting] = working
  await fleet.query('update project_sessions set is_busy = true where project_id = any($1)', [
    working.map(({ id }) => id),
  ])
  for (const project of waiting) await project.move(ada, ada)
  await fleet.query("update project_moves set cause = 'drain' where ended_at is null")
  for (const project of waiting)
    await until('its move waits', async () => (await project.lastMove()).waits_for?.endsWith(' is working.') === true)
  expect(await drain('bob')).toMatchObject({ status: 200 })
  await until('the one at rest is at ada', async () => (await resting.lastMove())?.home === 'ada')
  expect(await unmoved!.lastMove()).toBeUndefined()
  expect(await drain('bob', { off: true })).toMatchObject({ status: 200 })
  for (const project of waiting) await project.request(ada, 'DELETE', '/home/move')
})

/** At home at bob, with a running session. */
async function withSession() {
  const project = await until('bob is its home', async () => {
    const made = await TestProjectOfFleet.make(fleet, bob)
    const { body } = await made.request<ProjectHome>(bob, 'GET', '/home')
    return body.server === 'bob' ? made : null
  })
  const commit = await project.commit()
  expect((await project.push(bob, commit, 'main')).code).toBe(0)
  const { body } = await project.request<{ session_id: string }>(bob, 'POST', '/sessions', {})
  const path = `/sessions/${body.session_id}`
  await until('its session runs', async () => {
    const { body } = await project.request<{ status: string }>(bob, 'GET', path)
    return body.status === 'running'
  })
  return project
}

test('of drains at the same time one server is left', async () => {
  for (let round = 0; round < 5; round++) {
    const statuses = (await Promise.all([drain('ada'), drain('bob')])).map(({ status }) => status)
    expect(statuses.toSorted()).toEqual([200, 409])
    for (const name of ['ada', 'bob']) expect((await drain(name, { off: true })).status).toBe(200)
  }
})

test('a stopped server is listed while it keeps projects or copies of projects', async () => {
  await fleet.query(
    'insert into servers (server_name, data_folder) select name, gen_random_uuid() from unnest($1::text[]) name',
    [['eve', 'fay', 'gus']],
  )
  // The copy of a project whose home does not run either, so that no server gives it another one.
  await fleet.query(
    `with one as (update projects set home = 'fay'
      where project_id = (select project_id from project_replicas limit 1) returning project_id)
    update project_replicas r set server = 'eve' from one where r.project_id = one.project_id`,
  )
  const before = (await servers()).get('bob')!
  await bob.kill('SIGTERM')
  const found = await servers()
  expect(found.get('eve')).toMatchObject({ running: false, projects: 0, last_seen: null })
  expect(found.get('fay')).toMatchObject({ running: false, projects: 1 })
  expect(found.has('gus')).toBe(false)
  const stopped = found.get('bob')!
  expect(before.projects).toBeGreaterThan(0)
  expect(stopped).toMatchObject({ running: false, projects: before.projects })
  expect(Date.parse(stopped.last_seen!)).toBeGreaterThanOrEqual(Date.parse(before.last_seen!))
})

test('projects move only between settled servers that keep clearly unequal numbers', () => {
  const server = (server_name: string, projects: number, more: object = {}) => ({
    ...{
      server_name,
      projects,
      is_draining: false,
      has_sandboxes: true,
      has_other_clock: false,
      disk_low: false,
      minutes: 60,
    },
    ...more,
  })
  expect(chooseBalance([server('ada', 10), server('bob', 0)])).toEqual({ from: 'ada', to: 'bob' })
  expect(chooseBalance([server('ada', 3), server('bob', 0)])).toBeNull()
  expect(chooseBalance([server('ada', 100), server('bob', 90)])).toBeNull()
  expect(chooseBalance([server('ada', 10), server('bob', 0, { minutes: 1 })])).toBeNull()
  expect(chooseBalance([server('ada', 10), server('bob', 0, { is_draining: true })])).toBeNull()
  expect(chooseBalance([server('ada', 10)])).toBeNull()
  const broken = server('bob', 0, { has_sandboxes: false })
  expect(chooseBalance([server('ada', 10), broken])).toBeNull()
  expect(chooseBalance([server('ada', 10), broken, server('cyd', 1)])).toEqual({ from: 'ada', to: 'cyd' })
  const left = server('bob', 1, { has_sandboxes: false })
  expect(chooseBalance([server('ada', 3), left])).toEqual({ from: 'bob', to: 'ada' })
  expect(chooseBalance([server('ada', 3, { has_sandboxes: false }), left])).toBeNull()
})
