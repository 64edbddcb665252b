/** A server that cannot do its part, or is set up unlike the others, is named where its operator looks. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import type { ProjectHome, Server } from '@svc/contract'
import { join } from 'node:path'
import { freePort } from '@svc/git/testing'
import { parseConfig } from '../config.ts'
import { examineUpgrade } from '../startup/examine-upgrade.ts'
import { version } from '../version.ts'
import { TestProjectOfFleet } from './moves/testing-moves.ts'
import { type Fleet, type FleetServer, makeFleet } from './testing-fleet.ts'

setDefaultTimeout(120_000)

let fleet: Fleet
let ada: FleetServer
let bob: FleetServer
const unlike = { SVC_PUBLIC_URL: 'http://other.test', SVC_REPLICA: 'none', SVC_KEEP_EVENTS: '7d' }

beforeAll(async () => {
  fleet = await makeFleet(['ada', 'bob'])
  ;[ada, bob] = fleet.servers as [FleetServer, FleetServer]
  expect((await ada.boot({}, { hasSandboxes: true })).url).not.toBeNull()
  expect((await bob.boot(unlike)).url).not.toBeNull()
})
afterAll(() => fleet.close())

async function serverNamed(name: string): Promise<Server> {
  const answer = await fleet.request(ada, 'GET', '/v1/servers')
  const { servers } = (await answer.json()) as { servers: Server[] }
  return servers.find((each) => each.name === name)!
}

interface Doctor {
  groups: { name: string; findings: { name: string; state: string; says: string }[] }[]
}

async function findings(server = ada): Promise<string[]> {
  const answer = await fleet.request(server, 'GET', '/v1/doctor')
  const { groups } = (await answer.json()) as Doctor
  const found = groups.find(({ name }) => name === 'servers')!.findings
  return found.filter(({ state }) => state === 'weak').map(({ name, says }) => `${name}: ${says}`)
}

test('a server whose sandboxes cannot start gets no project while another one can take it', async () => {
  for (let n = 0; n < 3; n++) {
    const project = await TestProjectOfFleet.make(fleet, bob)
    expect(await project.request<ProjectHome>(bob, 'GET', '/home')).toMatchObject({ body: { server: 'ada' } })
    if (n > 0) continue
    expect(await project.request(bob, 'POST', '/home', { server: 'bob' })).toMatchObject({
      status: 409,
      body: { error: 'bob cannot start sandboxes: SVC_SANDBOX_DRIVER is none.' },
    })
  }
  const listed = await fleet.request(ada, 'GET', '/v1/servers?include=projects')
  const { projects } = (await listed.json()) as { projects: object[] }
  expect(projects.length).toBe(3)
  expect(projects[0]).toMatchObject({ home: 'ada', deleted: false })
  const problem = { sandboxes: 'missing', sandbox_problem: 'SVC_SANDBOX_DRIVER is none.' } as const
  expect(await serverNamed('bob')).toMatchObject({ running: true, keeps_projects: true, ...problem })
  expect(await serverNamed('ada')).toMatchObject({ sandboxes: 'ready', sandbox_problem: null })
  expect(await findings()).toContain(
    'sandboxes: bob cannot start sandboxes, so it gets no projects while another server can: SVC_SANDBOX_DRIVER is none.',
  )
})

test('settings that differ between servers are named with both values', async () => {
  expect((await serverNamed('bob')).different_settings).toEqual([
    { name: 'SVC_KEEP_EVENTS', value: '7d', here: '30d' },
    { name: 'SVC_PUBLIC_URL', value: 'http://other.test', here: 'http://127.0.0.1:8420' },
    { name: 'SVC_REPLICA', value: 'none', here: 'sync' },
  ])
  expect((await serverNamed('ada')).different_settings).toEqual([])
  const found = await findings()
  expect(found).toContain(
    'settings: SVC_PUBLIC_URL is http://other.test on the server bob, and http://127.0.0.1:8420 here',
  )
  expect(found).toContain('settings: SVC_REPLICA is none on the server bob, and sync here')
})

test('a server at whose SVC_PEER_URL nothing listens says so at its start and in the doctor', async () => {
  const port = await freePort()
  await bob.kill('SIGTERM')
  const again = await bob.boot({ ...unlike, SVC_PEER_URL: `http://127.0.0.1:${port}` })
  const problem = `nothing accepts connections at http://127.0.0.1:${port}, the SVC_PEER_URL of this server`
  expect(await findings(bob)).toContain(`address: from this machine, ${problem}`)
  expect((await findings()).filter((each) => each.startsWith('address'))).toEqual([])
  await bob.kill('SIGTERM')
  expect(await again.errors()).toContain(problem)
  expect(await again.errors()).toMatch(
    /this one listens at 127\.0\.0\.1:\d+\. Set SVC_PEER_URL to an address that leads/,
  )
  expect((await bob.boot(unlike)).url).not.toBeNull()
})

test('an upgrade names the other servers that run, with their versions', async () => {
  const examined = await examineUpgrade(
    parseConfig({
      HOME: fleet.dir,
      DATABASE_URL: fleet.databaseUrl,
      SVC_DATA_DIR: join(fleet.dir, 'ada'),
      SVC_PEER_URL: ada.url,
      SVC_PUBLIC_URL: 'http://127.0.0.1:8420',
      SVC_SANDBOX_DRIVER: 'none',
    }),
  )
  expect(examined).toMatchObject({ migrations: 0, other_servers: [{ name: 'bob', version }] })
})

test('a server says at its start that it is still being drained, and where its settings differ', async () => {
  expect((await fleet.request(bob, 'POST', '/v1/servers/ada/drain', { body: {} })).status).toBe(200)
  await ada.kill('SIGTERM')
  const again = await ada.boot({}, { hasSandboxes: true })
  expect(again.url).not.toBeNull()
  expect(await findings()).toContain('drain: ada is being drained: it takes no projects, and those it has move away')
  await ada.kill('SIGTERM')
  const log = await again.errors()
  expect(log).toContain('This server is being drained')
  expect(log).toContain('SVC_REPLICA is none on the server bob, and sync here. It has to be the same on every server.')
})
