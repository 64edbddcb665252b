/** Three servers, of which the one with the fewest projects has a full disk. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import type { ErrorBody, Server } from '@svc/contract'
import { until } from '../testing-until.ts'
import { TestProjectOfFleet } from './moves/testing-moves.ts'
import { type Fleet, type FleetServer, makeFleet } from './testing-fleet.ts'

setDefaultTimeout(120_000)

let fleet: Fleet
let ada: FleetServer
const full = { SVC_DISK_FREE_MIN: '1000000GiB' }

beforeAll(async () => {
  fleet = await makeFleet(['ada', 'bob', 'dee'], { SVC_BALANCE_HOMES: 'off' })
  ada = fleet.servers[0]!
  const [, bob, dee] = fleet.servers as [FleetServer, FleetServer, FleetServer]
  expect((await ada.boot({}, { hasSandboxes: true })).url).not.toBeNull()
  expect((await bob.boot()).url).not.toBeNull()
  expect((await dee.boot(full, { hasSandboxes: true })).url).not.toBeNull()
})
afterAll(() => fleet.close())

const create = (name: string) => fleet.request(ada, 'POST', '/v1/projects', { body: { name } })

test('a server whose disk is full gets no projects and copies while another one can take them, and is shown', async () => {
  for (const name of ['one', 'two', 'three']) {
    const made = await create(name)
    expect([made.status, await made.json()]).toEqual([201, expect.objectContaining({ name })])
  }
  const placed = await until('each has a copy', async () => {
    const rows = await fleet.query(
      'select home, r.server as copy from projects join project_replicas r using (project_id)',
    )
    return rows.length === 3 && rows
  })
  expect(placed).toEqual(Array.from({ length: 3 }, () => ({ home: 'ada', copy: 'bob' })))
  const { servers } = (await (await fleet.request(ada, 'GET', '/v1/servers')).json()) as { servers: Server[] }
  expect(servers.map(({ name, disk_low }) => [name, disk_low])).toEqual([
    ['ada', false],
    ['bob', false],
    ['dee', true],
  ])
  const findings = await (await fleet.request(ada, 'GET', '/v1/doctor')).text()
  expect(findings).toContain('the disk of dee is almost full, so it gets no projects')
})

test('a refusal for want of space names the server whose disk is full, whichever server was asked', async () => {
  const dee = fleet.servers[2]!
  await dee.kill('SIGKILL')
  expect((await dee.boot({}, { hasSandboxes: true })).url).not.toBeNull()
  const project = await until('dee gets a project', async () => {
    const made = await TestProjectOfFleet.make(fleet, dee)
    const [row] = await fleet.query<{ home: string }>('select home from projects where project_id = $1', [made.id])
    return row!.home === 'dee' && made
  })
  const main = await project.commit()
  expect(await project.push(ada, main, 'main')).toMatchObject({ code: 0 })
  await dee.kill('SIGKILL')
  expect((await dee.boot(full, { hasSandboxes: true })).url).not.toBeNull()
  const refused = await until('dee answers', async () => {
    const answer = await fleet.request(ada, 'POST', `/v1/projects/${project.id}/sessions`, { body: {} })
    const { error } = (await answer.json()) as ErrorBody
    return error.includes('dee does not answer') || error.includes('dee, is not')
      ? null
      : { status: answer.status, error }
  })
  expect(refused).toEqual({
    status: 503,
    error: 'The disk of dee is almost full, so it accepts no new work.',
  })
  const pushed = await project.push(ada, await project.commit(main), 'topic')
  expect(pushed.errors).toContain(
    'remote: The disk of dee is almost full, so it accepts no new work. Nothing was changed',
  )
})
