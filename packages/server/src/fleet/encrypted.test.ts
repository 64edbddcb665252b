import { afterAll, beforeAll, expect, test } from 'bun:test'
import { randomBytes } from 'node:crypto'
import { createServer as createTlsServer, request as httpsRequest } from 'node:https'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { join } from 'node:path'
import type { Server as FleetMember } from '@svc/contract'
import { freePort } from '@svc/git/testing'
import pino from 'pino'
import { openDatabase } from '../db/pool.ts'
import { makeKeyring } from '../keyring/keyring.ts'
import { openKeyring } from '../keyring/open-keyring.ts'
import { until } from '../testing-until.ts'
import { PeerTls } from './peer-tls.ts'
import { type Fleet, type FleetServer, makeFleet, refusedUpgrade } from './testing-fleet.ts'

/** The network between the servers: records what passes to bob, and leads it elsewhere when it is told to. */
class Tap {
  readonly server: Server
  recorded = ''
  #to = 0
  readonly #open = new Set<Socket>()

  constructor() {
    this.server = createServer((socket) => {
      const upstream = connect({ host: '127.0.0.1', port: this.#to })
      socket.on('data', (chunk: Buffer) => void (this.recorded += chunk.toString('latin1')))
      socket.pipe(upstream).pipe(socket)
      for (const each of [socket, upstream]) each.on('error', () => each.destroy())
      this.#open.add(socket)
      socket.on('close', () => {
        this.#open.delete(socket)
        upstream.destroy()
      })
      upstream.on('close', () => socket.destroy())
    })
  }

  /** Connections that are open are cut. */
  set to(port: number) {
    this.#to = port
    for (const socket of this.#open) socket.destroy()
  }

  async listen(): Promise<number> {
    await new Promise<void>((resolve) => this.server.listen({ host: '127.0.0.1', port: 0 }, resolve))
    return (this.server.address() as AddressInfo).port
  }
}

const tap = new Tap()
let fleet: Fleet
let ada: FleetServer
let bob: FleetServer
let bobsPort: number
/** A project whose home is bob. */
let path: string

beforeAll(async () => {
  fleet = await makeFleet(['ada', 'bob'])
  ;[ada, bob] = fleet.servers as [FleetServer, FleetServer]
  bobsPort = await freePort()
  tap.to = bobsPort
  const peerUrl = `https://127.0.0.1:${await tap.listen()}`
  expect((await ada.boot()).url).not.toBeNull()
  const booted = await bob.boot({ SVC_PEER_URL: peerUrl, SVC_PEER_LISTEN: `127.0.0.1:${bobsPort}` })
  expect(booted.url).not.toBeNull()
  for (const name of ['one', 'two'])
    expect((await fleet.request(ada, 'POST', '/v1/projects', { body: { name } })).status).toBe(201)
  const [row] = await fleet.query<{ project_id: string }>(`select project_id from projects where home = 'bob'`)
  path = `/v1/projects/${row!.project_id}`
}, 120_000)
afterAll(async () => {
  await fleet.close()
  tap.server.close()
})

test('requests, bodies, streams and upgrades pass between servers, and nothing of them can be read on the way', async () => {
  tap.recorded = ''
  expect((await fleet.request(ada, 'GET', path)).status).toBe(200)
  const renamed = await fleet.request(ada, 'PATCH', path, { body: { name: 'a name to look for' } })
  expect(((await renamed.json()) as { name: string }).name).toBe('a name to look for')

  const reader = new AbortController()
  const events = await fleet.request(ada, 'GET', `${path}/events`, {
    headers: { accept: 'text/event-stream' },
    signal: reader.signal,
  })
  expect(events.headers.get('content-type')).toContain('text/event-stream')
  reader.abort()

  const upgraded = await refusedUpgrade(fleet, ada, `${path}/sessions/${crypto.randomUUID()}/terminal`)
  expect(upgraded).toMatchObject({ status: 404, body: { code: 'not_found' } })

  expect(tap.recorded.length).toBeGreaterThan(1_000)
  for (const secret of [fleet.token, 'a name to look for', 'authorization', path])
    expect(tap.recorded.toLowerCase()).not.toContain(secret.toLowerCase())
}, 120_000)

test('the port for servers answers nobody else', async () => {
  const tls = { rejectUnauthorized: false }
  const answer = await fetch(`https://127.0.0.1:${bobsPort}/v1/projects`, {
    headers: { authorization: `Bearer ${fleet.token}` },
    tls,
  })
  expect({ status: answer.status, code: ((await answer.json()) as { code: string }).code }).toEqual({
    status: 403,
    code: 'forbidden',
  })
}, 120_000)

test.each(['/v1/peer/../projects', '/v1/replicas/%2e%2e/projects', '/v1/peer/../../projects', '/health'])(
  'nor with the path %s',
  async (asked) => {
    const status = await new Promise<number | undefined>((resolve, reject) => {
      const options = { host: '127.0.0.1', port: bobsPort, path: asked, rejectUnauthorized: false, agent: false }
      httpsRequest({ ...options, headers: { authorization: `Bearer ${fleet.token}` } }, (answer) => {
        answer.resume()
        resolve(answer.statusCode)
      })
        .on('error', reject)
        .end()
    })
    expect(status).toBe(403)
  },
  120_000,
)

test('a program that answers in place of a server gets no request', async () => {
  const seen: string[] = []
  const otherInstallation = await PeerTls.make(makeKeyring(randomBytes(32)))
  for (const [answerer, certificate] of [
    ['another program', await otherInstallation.certificate('bob')],
    ['the server cyd', await (await PeerTls.make(await ownKeyring())).certificate('cyd')],
  ] as const) {
    const impostor = createTlsServer(certificate, (request, response) => {
      seen.push(request.url ?? '')
      response.end('{}')
    })
    await new Promise<void>((resolve) => impostor.listen({ host: '127.0.0.1', port: 0 }, resolve))
    tap.to = (impostor.address() as AddressInfo).port
    for (const [method, body] of [
      ['GET', undefined],
      ['PATCH', { name: 'not for the impostor' }],
    ] as const) {
      const refused = await until('the connection to bob is gone', async () => {
        const answer = await fleet.request(ada, method, path, body === undefined ? {} : { body })
        return answer.status === 503 ? answer : null
      })
      expect(await refused.text()).toContain('does not answer')
    }
    const [listed, examined] = await Promise.all([
      fleet.request(ada, 'GET', '/v1/servers'),
      fleet.request(bob, 'GET', '/v1/doctor'),
    ])
    const { servers } = (await listed.json()) as { servers: FleetMember[] }
    expect(servers.find(({ name }) => name === 'bob')!.reachable).toBe(false)
    expect(await examined.text()).toContain(`the SVC_PEER_URL of this server, leads to ${answerer}`)
    impostor.close()
  }
  expect(seen).toEqual([])
  tap.to = bobsPort
  expect((await fleet.request(ada, 'GET', path)).status).toBe(200)
}, 120_000)

/** As the servers of this fleet have it. */
async function ownKeyring() {
  const log = pino({ level: 'silent' })
  const { db, close } = openDatabase(fleet.databaseUrl, log)
  try {
    const { databaseUrl } = fleet
    const config = { masterKeyFile: join(fleet.dir, 'master.key'), dataDir: join(fleet.dir, 'ada'), databaseUrl }
    return await openKeyring({ db, config, log })
  } finally {
    await close()
  }
}

test('a server behind a balancer with the PROXY protocol is reached by its own port', async () => {
  await bob.kill('SIGTERM')
  const behind = { SVC_PROXY_PROTOCOL: '1', SVC_TRUSTED_PROXIES: 'loopback' }
  const refused = await bob.boot(behind)
  expect(await refused.errors()).toContain('SVC_PEER_LISTEN')
  const plain = { SVC_PEER_URL: `http://127.0.0.1:${bobsPort}`, SVC_PEER_LISTEN: `127.0.0.1:${bobsPort}` }
  expect((await bob.boot({ ...behind, ...plain })).url).not.toBeNull()
  await until('ada knows the new address', async () => (await fleet.request(ada, 'GET', path)).status === 200)
}, 120_000)
