import { expect, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Server } from '@svc/contract'
import { until } from '../../testing-until.ts'
import { makeFleet } from '../testing-fleet.ts'
import { FleetProject, uncopied } from '../testing-work.ts'

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

test('the copy of a project that has moved is being made, unless a server that it needs does not run', async () => {
  const fleet = await makeFleet(['ada', 'bob', 'cyd'])
  const [ada, bob, cyd] = fleet.servers
  try {
    const file = join(fleet.dir, 'at-fill')
    expect((await ada!.boot()).url).not.toBeNull()
    expect((await bob!.boot({ SVC_FAILPOINTS: `replica.before_fill=pause:${file}` })).url).not.toBeNull()
    expect((await cyd!.boot()).url).not.toBeNull()
    const project = await FleetProject.make(fleet, ada!)
    const copies = () => uncopied(fleet, cyd!)
    await until('the first copy', async () => (await copies()).length === 0)
    const moving = await fleet.request(ada!, 'POST', `/v1/projects/${project.id}/home`, { body: { server: 'bob' } })
    expect(moving.status).toBe(202)
    await until('the new home makes its copy', () => existsSync(file))
    expect(await copies()).toMatchObject([{ project_id: project.id, home: 'bob', being_made: true }])
    await bob!.kill('SIGKILL')
    await until('bob to count as gone', async () => (await copies())[0]?.being_made === false)
    await rm(file)
    expect((await bob!.boot()).url).not.toBeNull()
    await until('its copy', async () => (await copies()).length === 0)
  } finally {
    await fleet.close()
  }
}, 180_000)
