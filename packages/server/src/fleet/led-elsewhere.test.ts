/** A server whose SVC_PEER_URL leads to another one lives, and no request reaches it over the others. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { type AddressInfo, connect, createServer } from 'node:net'
import type { ErrorBody, ProjectHome, Server } from '@svc/contract'
import { TestProjectOfFleet } from './moves/testing-moves.ts'
import { type Fleet, type FleetServer, makeFleet } from './testing-fleet.ts'

setDefaultTimeout(120_000)

let fleet: Fleet
let ada: FleetServer
let bob: FleetServer
/** Leads to ada, which is not seen in the address. */
let elsewhere: string
const lead = createServer((socket) => {
  const upstream = connect({ host: '127.0.0.1', port: Number(new URL(ada.url).port) })
  socket.pipe(upstream).pipe(socket)
  for (const each of [socket, upstream]) each.on('error', () => each.destroy())
})

beforeAll(async () => {
  fleet = await makeFleet(['ada', 'bob'])
  ;[ada, bob] = fleet.servers as [FleetServer, FleetServer]
  await new Promise<void>((resolve) => lead.listen(0, '127.0.0.1', resolve))
  elsewhere = `http://127.0.0.1:${(lead.address() as AddressInfo).port}`
  expect((await ada.boot()).url).not.toBeNull()
})
afterAll(async () => {
  await fleet.close()
  lead.close()
})

async function reachable(name: string): Promise<boolean | null> {
  const answer = await fleet.request(ada, 'GET', '/v1/servers')
  const { servers } = (await answer.json()) as { servers: Server[] }
  return servers.find((each) => each.name === name)!.reachable
}

interface Doctor {
  groups: { name: string; findings: { name: string; state: string; says: string }[] }[]
}

async function addressOf(server: FleetServer): Promise<string | undefined> {
  const answer = await fleet.request(server, 'GET', '/v1/doctor')
  const { groups } = (await answer.json()) as Doctor
  return groups.flatMap(({ findings }) => findings).find(({ name }) => name === 'address')?.says
}

test('it is not reachable, and its start and its doctor name the server that answers there', async () => {
  const booted = await bob.boot({ SVC_PEER_URL: elsewhere })
  expect(await reachable('bob')).toBe(false)
  const problem = `from this machine, ${elsewhere}, the SVC_PEER_URL of this server, leads to the server ada`
  expect(await addressOf(bob)).toBe(problem)
  expect(await addressOf(ada)).toBe(`${ada.url} leads to this server from this machine`)
  await bob.kill('SIGTERM')
  expect(await booted.errors()).toContain(problem.replace('from', 'From'))
  expect((await bob.boot({ SVC_PEER_URL: elsewhere })).url).not.toBeNull()
})

test('it gets no new project, and a move to it is refused', async () => {
  const [first, project] = [await TestProjectOfFleet.make(fleet, ada), await TestProjectOfFleet.make(fleet, ada)]
  for (const each of [first, project])
    expect(await each.request<ProjectHome>(ada, 'GET', '/home')).toMatchObject({ body: { server: 'ada' } })
  expect(await project.request(ada, 'POST', '/home', { server: 'bob' })).toMatchObject({
    status: 409,
    body: { error: `bob cannot be reached: ${elsewhere}, its SVC_PEER_URL, leads to the server ada.` },
  })
  expect(await fleet.query('select 1 from project_moves')).toEqual([])
})

test('its projects are said to be out of reach, not to move', async () => {
  const project = await TestProjectOfFleet.make(fleet, bob)
  await fleet.query(`update projects set home = 'bob' where project_id = $1`, [project.id])
  for (const [method, body] of [
    ['GET', undefined],
    ['PATCH', { name: 'renamed' }],
  ] as const)
    for (let isKnown = true; isKnown; await Bun.sleep(100)) {
      const answer = await project.request<ErrorBody>(ada, method, '', body)
      // Ada remembers for some seconds that it was the home.
      if (answer.status === 200) continue
      isKnown = false
      expect([answer.status, answer.body.error]).toEqual([
        503,
        'The server that keeps this project, bob, does not answer.',
      ])
    }
})

test('another program in place of a server counts as an answer only for servers of earlier versions', async () => {
  using other = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: () => new Response('', { status: 404 }) })
  const url = `http://127.0.0.1:${other.port}`
  for (const [name, settings] of [
    ['old', {}],
    ['new', { proves_name: 'true' }],
  ] as const) {
    await fleet.query(
      'insert into servers (server_name, data_folder, peer_url, settings) values ($1, gen_random_uuid(), $2, $3)',
      [name, url, settings],
    )
    await fleet.query(
      `insert into server_instances (instance_id, server_name, peer_url, heartbeat_at, data_folder)
       values (gen_random_uuid(), $1, $2, now() + interval '1 hour', gen_random_uuid())`,
      [name, url],
    )
  }
  expect([await reachable('old'), await reachable('new')]).toEqual([true, false])
})

test('only servers are told the name of a server', async () => {
  const answer = await fleet.request(ada, 'GET', '/v1/peer/server')
  expect([answer.status, answer.headers.get('x-svc-server-name')]).toEqual([404, null])
})
