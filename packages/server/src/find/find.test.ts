/** Finding change requests and sessions, at the HTTP entry. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Project } from '@svc/contract'
import { sql } from 'kysely'
import { type TestProject, testProject } from '../change-requests/testing.ts'
import { makeSessionApp, type SessionApp } from '../sessions/testing.ts'

let app: SessionApp
let one: TestProject
let other: TestProject
beforeAll(async () => {
  app = await makeSessionApp()
  one = testProject(app, await app.managedProject({ 'a.txt': 'a\n' }))
  other = testProject(app, await app.managedProject({ 'a.txt': 'a\n' }))
  for (const at of [one, other]) {
    await at.open('retry', { 'b.txt': 'b\n' }, { title: 'Retry Webhook deliveries' })
    await at.open('totals', { 'c.txt': 'c\n' }, { title: 'Integer totals' })
    await sql`insert into project_sessions (session_id, account_id, project_id, name, branch_name, base_ref, agent_name, status)
      select gen_random_uuid(), account_id, project_id, 'Invoice totals 100%', 'x', 'main', 'codex', 'stopped'
      from projects where project_id = ${at.project.project_id}`.execute(app.deps.db)
  }
}, 120_000)
afterAll(() => app.close())

interface Found {
  change_requests: { number: number; title: string; status: string; project: Pick<Project, 'project_id' | 'slug'> }[]
  sessions: { name: string; project: Pick<Project, 'project_id'> }[]
}

const find = async (text: string, token = app.ownerToken, more = '') =>
  (await app.request<Found>('GET', `/v1/find?text=${encodeURIComponent(text)}${more}`, { token })).body

test('finds change requests by title, branch and number and sessions by name, those of the project first', async () => {
  const more = (at: TestProject) => `&project_id=${at.project.project_id}`
  for (const at of [one, other]) {
    const found = await find('webhook RETRY', app.ownerToken, more(at))
    expect(found.change_requests.map(({ project }) => project.project_id)[0]).toBe(at.project.project_id)
    expect(found.change_requests).toHaveLength(2)
    expect(found.sessions).toEqual([])
    expect(found.change_requests[0]).toMatchObject({
      ...{ number: 1, title: 'Retry Webhook deliveries', status: 'open' },
      project: { slug: at.project.slug, name: at.project.name },
    })
  }
  for (const text of ['2', '#2', '#2 totals'])
    expect((await find(text, app.ownerToken, more(one))).change_requests[0]).toMatchObject({ number: 2 })
  const totals = await find('totals')
  expect([totals.change_requests.length, totals.sessions.length]).toEqual([2, 2])
  expect((await find('100%')).sessions).toHaveLength(2)
  expect(await find('no such thing')).toEqual({ change_requests: [], sessions: [] })
})

test('an open change request comes before a closed one, and the whole number before a part of it', async () => {
  const at = testProject(app, await app.managedProject({ 'a.txt': 'a\n' }))
  const first = await at.open('b1', { 'b.txt': '1\n' }, { title: 'Zebra' })
  await at.open('b2', { 'b.txt': '2\n' }, { title: 'Zebra' })
  await app.request('POST', at.path(first.cr_id, 'close'))
  const numbers = async (text: string) =>
    (await find(text, app.ownerToken, `&project_id=${at.project.project_id}`)).change_requests.map(
      ({ number }) => number,
    )
  expect(await numbers('zebra')).toEqual([2, 1])
  await sql`update change_requests set number = 12 where project_id = ${at.project.project_id} and number = 2`.execute(
    app.deps.db,
  )
  expect((await numbers('1')).slice(0, 2)).toEqual([1, 12])
})

test('shows nothing of projects that the caller is no member of, and a viewer sessions only', async () => {
  const stranger = await app.makeUser('member', 'own')
  expect(await find('totals', stranger.token)).toEqual({ change_requests: [], sessions: [] })
  const viewer = await app.makeUser('viewer')
  const found = await find('totals', viewer.token)
  expect([found.change_requests.length, found.sessions.length]).toEqual([0, 2])
  expect((await app.request('GET', '/v1/find?text=%20')).status).toBe(400)
  expect((await app.request('GET', '/v1/find?text=a', { token: null })).status).toBe(401)
})
