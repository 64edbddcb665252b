/** Three servers, of which the one with the fewest projects has a full disk. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import type { Server } from '@svc/contract'
import { until } from '../testing-until.ts'
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
