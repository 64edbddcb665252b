/** Two servers, of which one has a clock that is five minutes ahead. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { ErrorBody, Server } from '@svc/contract'
import { freePort } from '@svc/git/testing'
import { until } from '../testing-until.ts'
import { TestProjectOfFleet } from './moves/testing-moves.ts'
import { type Fleet, type FleetServer, makeFleet, refusedUpgrade } from './testing-fleet.ts'

setDefaultTimeout(120_000)

const preload = join(import.meta.dir, '../../../../test/torture/moved-clock.ts')
const aheadMs = 300_000

/** The number of seconds depends on when each clock was read. */
const ahead = /^The clock of bob is (?:299|300|301) seconds ahead of that of ada; servers accept one minute\.$/
const behind = /^The clock of ada is (?:299|300|301) seconds behind that of bob; servers accept one minute\.$/

describe.each(['http', 'https'])('with %s between servers', (protocol) => {
  let fleet: Fleet
  let ada: FleetServer
  let bob: FleetServer
  const paths: Record<string, string> = {}

  const moveClock = (ms: number) => writeFile(join(fleet.dir, 'clock'), `${ms}`)

  const clockOf = async (name: string) => {
    const answer = await fleet.request(ada, 'GET', '/v1/servers')
    const { servers } = (await answer.json()) as { servers: Server[] }
    return servers.find((each) => each.name === name)!.clock_ahead_seconds
  }

  async function settingsOf(server: FleetServer): Promise<Record<string, string>> {
    const peerUrl = `https://127.0.0.1:${await freePort()}`
    return protocol === 'http' ? { SVC_PEER_URL: server.url } : { SVC_PEER_URL: peerUrl }
  }

  beforeAll(async () => {
    fleet = await makeFleet(['ada', 'bob'], { SVC_TRUSTED_PROXIES: 'loopback' })
    ;[ada, bob] = fleet.servers as [FleetServer, FleetServer]
    await moveClock(0)
    expect((await ada.boot(await settingsOf(ada))).url).not.toBeNull()
    const clock = { BUN_OPTIONS: `--preload=${preload}`, TORTURE_CLOCK_FILE: join(fleet.dir, 'clock') }
    expect((await bob.boot({ ...(await settingsOf(bob)), ...clock })).url).not.toBeNull()
    for (const name of ['one', 'two'])
      expect((await fleet.request(ada, 'POST', '/v1/projects', { body: { name } })).status).toBe(201)
    const rows = await fleet.query<{ home: string; project_id: string }>('select home, project_id from projects')
    for (const { home, project_id } of rows) paths[home] = `/v1/projects/${project_id}`
    expect(Object.keys(paths).toSorted()).toEqual(['ada', 'bob'])
  })
  afterAll(() => fleet.close())

  test.each([
    ['from', 'bob', 'ada', ahead],
    ['to', 'ada', 'bob', behind],
  ])(
    'a request that is passed on %s a server whose clock differs is refused with both clocks, and works once they agree',
    async (_, through, home, says) => {
      const server = fleet.servers.find(({ name }) => name === through)!
      const path = paths[home]!
      const works = async () => (await fleet.request(server, 'PATCH', path, { body: { name: 'works' } })).status === 200
      await moveClock(aheadMs)
      await until('the clock of bob is ahead', async () => !(await works()))
      for (const [method, body] of [
        ['GET', undefined],
        ['PATCH', { name: 'renamed' }],
      ] as const) {
        const answer = await fleet.request(server, method, path, body === undefined ? {} : { body })
        expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '2'])
        const { error, code, hint } = (await answer.json()) as ErrorBody
        expect([code, error]).toEqual(['unavailable', expect.stringMatching(says)])
        expect(hint).toContain('timedatectl set-ntp true')
        expect(answer.headers.get('x-svc-peer-clock')).toBeNull()
      }
      const upgraded = await refusedUpgrade(fleet, server, `${path}/sessions/${crypto.randomUUID()}/terminal`)
      expect(upgraded).toMatchObject({ status: 503, retryAfter: '2', body: { code: 'unavailable' } })
      expect(upgraded.body.error).toContain('servers accept one minute')
      const stranger = await fleet.request(server, 'GET', path, { headers: { authorization: 'Bearer nobody' } })
      expect(stranger.status).toBe(401)

      await moveClock(0)
      await until('the clocks agree', works)
    },
  )

  test('a server whose clock differs is shown as such, and gets no projects while another one can take them', async () => {
    const findings = async () => (await fleet.request(ada, 'GET', '/v1/doctor')).text()
    await until('the clock of bob is right', async () => (await clockOf('bob')) === null)
    expect(await findings()).not.toContain('that of bob is')
    await moveClock(aheadMs)
    const shown = await until('the clock of bob is shown', () => clockOf('bob'))
    expect(Math.abs(shown - 300)).toBeLessThan(3)
    expect(await clockOf('ada')).toBeNull()
    expect(await findings()).toContain(`that of bob is ${shown} seconds ahead of the database's`)

    for (const name of ['three', 'four']) {
      const made = await fleet.request(ada, 'POST', '/v1/projects', { body: { name } })
      expect(made.status).toBe(201)
      const { project_id } = (await made.json()) as { project_id: string }
      expect(await fleet.query('select home from projects where project_id = $1', [project_id])).toEqual([
        { home: 'ada' },
      ])
    }
    const refused = await fleet.request(ada, 'POST', `${paths.ada}/home`, { body: { server: 'bob' } })
    expect([refused.status, ((await refused.json()) as ErrorBody).error]).toEqual([409, expect.stringMatching(ahead)])
  })

  test('a push is refused at once while every server that could keep the copy has another clock', async () => {
    await moveClock(aheadMs)
    await until('the clock of bob is shown', () => clockOf('bob'))
    const project = await TestProjectOfFleet.make(fleet, ada)
    const commit = await project.commit()
    const began = performance.now()
    const refused = await project.push(ada, commit, 'main')
    expect(performance.now() - began).toBeLessThan(15_000)
    expect([refused.code === 0, refused.errors]).toEqual([
      false,
      expect.stringContaining('bob answered: The clock of ada is'),
    ])
    await moveClock(0)
    await until('the push succeeds', async () => (await project.push(ada, commit, 'main')).code === 0)
  })
})
