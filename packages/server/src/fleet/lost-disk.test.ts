import { expect, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import type { Server } from '@svc/contract'
import { until } from '../testing-until.ts'
import { makeFleet } from './testing-fleet.ts'
import { FleetProject, takeOver, countAsGone } from './testing-work.ts'

test('the keeper of a copy that comes back without its disk is given another copy at once', async () => {
  const fleet = await makeFleet(['ada', 'bob'])
  const [ada, bob] = fleet.servers
  try {
    for (const server of [ada!, bob!]) expect((await server.boot()).url).not.toBeNull()
    const replaced = await FleetProject.make(fleet, ada!)
    const removed = await FleetProject.make(fleet, ada!)
    const copyOf = ({ id }: FleetProject) => join(fleet.dir, 'bob/replicas', `${id}.git`)
    for (const project of [replaced, removed]) await project.replicaIsAt('bob')
    const before = [await replaced.tips(ada!), await removed.tips(ada!)]
    await bob!.kill('SIGTERM')
    await rm(copyOf(removed), { recursive: true })
    expect((await bob!.boot()).url).not.toBeNull()
    await until('the copy that was removed', async () => existsSync(join(copyOf(removed), 'svc-replica')))
    // Also while the server runs.
    await rm(copyOf(removed), { recursive: true })
    await until('the copy that was removed again', async () => existsSync(join(copyOf(removed), 'svc-replica')))
    await removed.replicaIsAt('bob')
    await bob!.kill('SIGTERM')
    await rm(join(fleet.dir, 'bob'), { recursive: true })
    expect((await bob!.boot()).url).not.toBeNull()
    for (const project of [replaced, removed]) {
      await until('the copy on the new disk', async () => existsSync(join(copyOf(project), 'svc-replica')))
      await project.replicaIsAt('bob')
    }
    await ada!.kill('SIGKILL')
    await rm(join(fleet.dir, 'ada'), { recursive: true })
    await countAsGone(fleet, 'ada')
    const taken = await takeOver(fleet, bob!, 'ada')
    expect(taken.projects.map(({ outcome, missing }) => [outcome, missing])).toEqual([
      ['taken', []],
      ['taken', []],
    ])
    expect([await replaced.tips(bob!), await removed.tips(bob!)]).toEqual(before)
  } finally {
    await fleet.close()
  }
}, 120_000)

test('a home that comes back without its disk replaces no copy with nothing, and can be taken over', async () => {
  const fleet = await makeFleet(['ada', 'bob'])
  const [ada, bob] = fleet.servers
  try {
    for (const server of [ada!, bob!]) expect((await server.boot()).url).not.toBeNull()
    const project = await FleetProject.make(fleet, ada!)
    await project.replicaIsAt('bob')
    const before = await project.tips(ada!)
    await ada!.kill('SIGKILL')
    await rm(join(fleet.dir, 'ada'), { recursive: true })
    await countAsGone(fleet, 'ada')
    const row = await fleet.query('select * from project_replicas')
    // As if bob had not answered for too long: ada has to make another copy.
    await fleet.query('update project_replicas set epoch = 0')
    const booted = await ada!.boot()
    expect(booted.url).not.toBeNull()
    const refused = await until('a write that needs a copy', async () => {
      const answer = await project.request(bob!, 'POST', '/sessions', { name: 'lost' })
      return answer.ok ? null : answer.status
    })
    expect(refused).toBeGreaterThanOrEqual(500)
    expect(await fleet.query('select * from project_replicas where epoch > 0')).toEqual([])
    await ada!.kill('SIGKILL')
    const folder = join(fleet.dir, 'ada')
    expect(await booted.errors()).toContain(
      `This server has the name ada, which ran in ${folder} on ${hostname()} before, and starts with the data folder ${folder}.`,
    )
    await countAsGone(fleet, 'ada')
    await fleet.query('update project_replicas set epoch = 1')
    expect(await fleet.query('select * from project_replicas')).toEqual(row)
    const taken = await takeOver(fleet, bob!, 'ada')
    expect(taken.projects).toMatchObject([{ outcome: 'taken', missing: [] }])
    expect(await project.tips(bob!)).toEqual(before)
  } finally {
    await fleet.close()
  }
}, 120_000)

test('a server that is drained without its disk names the projects that it cannot hand over', async () => {
  const fleet = await makeFleet(['ada', 'bob'])
  const [ada, bob] = fleet.servers
  try {
    for (const server of [ada!, bob!]) expect((await server.boot()).url).not.toBeNull()
    const project = await FleetProject.make(fleet, ada!)
    const other = await FleetProject.make(fleet, ada!)
    await rm(join(fleet.dir, 'ada/repositories', `${project.id}.git`), { recursive: true })
    expect((await fleet.request(bob!, 'POST', '/v1/servers/ada/drain', { body: {} })).status).toBe(200)
    const left = await until('only the lost project', async () => {
      const answer = await fleet.request(bob!, 'GET', '/v1/servers')
      const { servers } = (await answer.json()) as { servers: Server[] }
      const found = servers.find(({ name }) => name === 'ada')!
      return found.projects === 1 && found.unmovable.length === 1 ? found : null
    })
    expect(left.unmovable).toMatchObject([{ project_id: project.id, reason: 'ada has no repository of this project.' }])
    expect(await other.home()).toMatchObject({ home: 'bob' })
  } finally {
    await fleet.close()
  }
}, 120_000)
