import { expect, test } from 'bun:test'
import type { Server } from '@svc/contract'
import { until } from '../../testing-until.ts'
import { makeFleet } from '../testing-fleet.ts'
import { FleetProject } from '../testing-work.ts'

test('a drained server gets no copies, and gives those it has to another one', async () => {
  const fleet = await makeFleet(['ada', 'bob', 'cyd'])
  const [ada, bob, cyd] = fleet.servers
  try {
    for (const server of [ada!, bob!]) expect((await server.boot()).url).not.toBeNull()
    const project = await FleetProject.make(fleet, ada!)
    await project.replicaIsAt('bob')
    const drained = await fleet.request(ada!, 'POST', '/v1/servers/bob/drain', { body: {} })
    expect(drained.status).toBe(200)
    const bobIs = async () => {
      const answer = await fleet.request(ada!, 'GET', '/v1/servers')
      return ((await answer.json()) as { servers: Server[] }).servers.find(({ name }) => name === 'bob')
    }
    expect(await bobIs()).toMatchObject({ draining: true, copies: 1, copies_to_move: 0 })
    expect((await cyd!.boot()).url).not.toBeNull()
    await project.replicaIsAt('cyd')
    await until('bob to keep nothing', async () => {
      const now = await bobIs()
      return now?.projects === 0 && now.copies === 0
    })
    await project.commit('later.txt')
    expect((await project.push(ada!, 'HEAD:refs/heads/later')).code).toBe(0)
    const later = await FleetProject.make(fleet, ada!)
    expect((await later.replica())?.server).toBe('cyd')
  } finally {
    await fleet.close()
  }
}, 120_000)
