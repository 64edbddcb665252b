/** A server cannot write the copies that homes send it: the home says why, and copies to another server. */
import { expect, test } from 'bun:test'
import { randomBytes } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import type { Server } from '@svc/contract'
import { until } from '../testing-until.ts'
import { makeFleet } from './testing-fleet.ts'
import { countAsGone, FleetProject, makeAt, takeOver, uncopied } from './testing-work.ts'

test('a copy that fails says why, at once, until it is there', async () => {
  const fleet = await makeFleet(['ada', 'bob'])
  const [ada, bob] = fleet.servers
  try {
    for (const server of [ada!, bob!]) expect((await server.boot()).url).not.toBeNull()
    const replicas = join(fleet.dir, 'bob/replicas')
    await rm(replicas, { recursive: true, force: true })
    await Bun.write(replicas, 'no folder')
    const id = await makeAt(fleet, ada!)
    const copies = () => uncopied(fleet, bob!)
    await until('the failed attempt', async () => (await copies())[0]?.error != null)
    expect(await copies()).toMatchObject([
      {
        project_id: id,
        home: 'ada',
        being_made: false,
        error: expect.stringMatching(/^bob answered: It could not read or write the copy\. .*replicas/s),
      },
    ])
    await rm(replicas)
    await until('the copy', async () => (await copies()).length === 0)
  } finally {
    await fleet.close()
  }
}, 120_000)

test('a server that answers but cannot write loses its copies to one that can', async () => {
  const fleet = await makeFleet(['ada', 'bob', 'cyd'])
  const [ada, bob, cyd] = fleet.servers
  try {
    for (const server of [ada!, bob!]) expect((await server.boot()).url).not.toBeNull()
    const project = await FleetProject.make(fleet, ada!)
    await project.replicaIsAt('bob')
    await bob!.kill('SIGTERM')
    expect((await bob!.boot({ SVC_FAILPOINTS: 'replica.before_refs=throw' })).url).not.toBeNull()
    // As after a move: it has an earlier copy, says so, and should get a new one.
    await fleet.query('update projects set home_epoch = home_epoch + 1')
    expect((await cyd!.boot()).url).not.toBeNull()
    await project.replicaIsAt('cyd')
  } finally {
    await fleet.close()
  }
}, 120_000)

test('a server that stops reading a large push is named with its reason', async () => {
  const fleet = await makeFleet(['ada', 'bob'])
  const [ada, bob] = fleet.servers
  try {
    for (const server of [ada!, bob!]) expect((await server.boot()).url).not.toBeNull()
    const project = await FleetProject.make(fleet, ada!)
    await bob!.kill('SIGTERM')
    expect((await bob!.boot({ SVC_FAILPOINTS: 'replica.before_objects=throw' })).url).not.toBeNull()
    await project.replicaIsAt('bob')
    await Bun.write(join(project.work, 'large'), randomBytes(6 * 1024 * 1024))
    await project.commit('beside.txt')
    const { errors } = await project.push(ada!, 'HEAD:refs/heads/topic')
    expect(errors).toContain('bob answered: It could not read or write the copy.')
  } finally {
    await fleet.close()
  }
}, 120_000)

test('a server that is gone without projects and copies is named where the others wait for it, until it is taken over', async () => {
  const fleet = await makeFleet(['ada', 'bob'])
  const [ada, bob] = fleet.servers
  try {
    for (const server of [ada!, bob!]) expect((await server.boot()).url).not.toBeNull()
    await ada!.kill('SIGKILL')
    await countAsGone(fleet, 'ada')
    const listed = async () => {
      const { servers } = (await (await fleet.request(bob!, 'GET', '/v1/servers')).json()) as { servers: Server[] }
      return servers.map(({ name, running, projects, copies }) => ({ name, running, projects, copies }))
    }
    const reason =
      /No other server that keeps copies is running: ada was last seen at \S+\. Start it, or if it is gone for good: svc self-host take-over ada\n/
    await expect(FleetProject.make(fleet, bob!)).rejects.toThrow(reason)
    expect(await listed()).toEqual([
      { name: 'ada', running: false, projects: 0, copies: 0 },
      { name: 'bob', running: true, projects: 1, copies: 0 },
    ])
    await takeOver(fleet, bob!, 'ada')
    expect(await listed()).toMatchObject([{ name: 'bob' }])
    await FleetProject.make(fleet, bob!)
  } finally {
    await fleet.close()
  }
}, 120_000)

test('a server with a copy that reaches the database alone is named, and its project is listed, until it answers', async () => {
  const fleet = await makeFleet(['ada', 'bob'])
  const [ada, bob] = fleet.servers
  const silent = createServer((socket) => void socket.on('error', () => {}).resume())
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve))
  const bobIsAt = (url: string) =>
    fleet.query("update server_instances set peer_url = $1 where server_name = 'bob'", [url])
  try {
    for (const server of [ada!, bob!]) expect((await server.boot()).url).not.toBeNull()
    const project = await FleetProject.make(fleet, ada!)
    await project.replicaIsAt('bob')
    await bobIsAt(`http://127.0.0.1:${(silent.address() as AddressInfo).port}`)
    // It remembers where bob was.
    await ada!.kill('SIGTERM')
    expect((await ada!.boot()).url).not.toBeNull()
    await project.commit('refused.txt')
    const { code, errors } = await project.push(ada!, 'HEAD:refs/heads/topic')
    expect([code, errors]).not.toEqual([0, expect.anything()])
    expect(errors).toMatch(/could not be written\. (The server with its copy, bob,|bob) does not answer\./)
    expect(await uncopied(fleet, ada!)).toMatchObject([
      { project_id: project.id, replica: 'bob', changes_refused: true, error: expect.stringContaining('bob') },
    ])
    const doctor = await (await fleet.request(ada!, 'GET', '/v1/doctor')).text()
    expect(doctor).toContain('changes of 1 project are refused, because the copy cannot be written')
    await bobIsAt(bob!.url)
    await until('the copy takes changes', async () => (await uncopied(fleet, ada!)).length === 0)
    expect(await project.push(ada!, 'HEAD:refs/heads/topic')).toMatchObject({ code: 0 })
  } finally {
    silent.close()
    await fleet.close()
  }
}, 120_000)

test('a push that waits for the copy says so while it waits', async () => {
  const fleet = await makeFleet(['ada', 'bob'])
  const [ada, bob] = fleet.servers
  try {
    for (const server of [ada!, bob!]) expect((await server.boot()).url).not.toBeNull()
    const project = await FleetProject.make(fleet, ada!)
    await project.commit('while-away.txt')
    await bob!.kill('SIGKILL')
    let said = ''
    const pushing = project.followPush(ada!, 'HEAD:refs/heads/topic', (errors) => void (said = errors))
    await until('the reason', () => said.includes('remote: Waiting for the copy of this project on another server: '))
    expect((await bob!.boot()).url).not.toBeNull()
    expect(await pushing).toEqual({ code: 0 })
  } finally {
    await fleet.close()
  }
}, 120_000)

test('a session whose start waits for the copy shows why, and goes on with it', async () => {
  const fleet = await makeFleet(['ada', 'bob'])
  const [ada, bob] = fleet.servers
  try {
    expect((await ada!.boot({}, { hasSandboxes: true })).url).not.toBeNull()
    expect((await bob!.boot()).url).not.toBeNull()
    const project = await FleetProject.make(fleet, ada!)
    const { session_id: id } = await project.ask<{ session_id: string }>(ada!, 'POST', '/sessions', {})
    const status = async () => (await project.ask<{ status: string }>(ada!, 'GET', `/sessions/${id}`)).status
    await until('the session to run', async () => (await status()) === 'running')
    await project.ask(ada!, 'POST', `/sessions/${id}/stop`)
    await until('the session to stop', async () => (await status()) === 'stopped')
    await bob!.kill('SIGKILL')
    // It has to compare its branches with what is recorded.
    await ada!.kill('SIGTERM')
    expect((await ada!.boot({}, { hasSandboxes: true })).url).not.toBeNull()
    await project.ask(ada!, 'POST', `/sessions/${id}/restart`)
    const branch = async () => {
      type Phases = { phases: { name: string; ms: number | null; note: string | null }[] }
      const { phases } = await project.ask<Phases>(ada!, 'GET', `/sessions/${id}/timeline`)
      return phases.find(({ name }) => name === 'branch')
    }
    const waiting = await until('the reason to be shown', async () => {
      const phase = await branch()
      return phase?.note == null ? null : phase
    })
    expect(waiting.ms).toBeNull()
    expect(waiting.note).toMatch(
      /^Waits for the copy of this project on another server\. (The server with its copy, bob,|No other server that keeps copies|bob) .*Operators: svc self-host copies\.$/s,
    )
    expect((await bob!.boot()).url).not.toBeNull()
    await until('the session to run', async () => (await status()) === 'running')
    expect(await branch()).toMatchObject({ ms: expect.any(Number), note: null })
  } finally {
    await fleet.close()
  }
}, 120_000)
