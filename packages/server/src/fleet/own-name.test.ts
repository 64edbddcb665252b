/** Two processes have one name, or a server that ran alone was taken over: only the later one does anything. */
import { afterEach, beforeEach, expect, setDefaultTimeout, test } from 'bun:test'
import { cp } from 'node:fs/promises'
import { join } from 'node:path'
import { commit, makeRepo, serveHttpBackend } from '@svc/git/testing'
import { type Fleet, type FleetServer, makeFleet } from './testing-fleet.ts'
import { countAsGone, FleetProject, takeOver } from './testing-work.ts'

setDefaultTimeout(120_000)

let fleet: Fleet
let ada: FleetServer
let bob: FleetServer
let cyd: FleetServer

beforeEach(async () => {
  fleet = await makeFleet(['ada', 'bob', 'cyd'])
  ;[ada, bob, cyd] = fleet.servers as [FleetServer, FleetServer, FleetServer]
})
afterEach(() => fleet.close())

/** Another process, on another port, with the name of ada. */
const asAda = { SVC_SERVER_NAME: 'ada' }
const folderOf = (name: string) => join(fleet.dir, name)

/** Nothing is answered, because the process has ended or is about to. */
async function expectNothing(project: FleetProject, server: FleetServer): Promise<void> {
  const answer = await project.request(server, 'POST', '/sessions', { name: 'late' }).catch(() => null)
  expect(answer?.status ?? 503).toBe(503)
  const pushed = await project.push(server, 'HEAD:refs/heads/late')
  expect(pushed.code).not.toBe(0)
}

test('a copy of the data folder of a running server does not start', async () => {
  expect((await ada.boot()).url).not.toBeNull()
  const isData = (path: string) => !path.includes('/run') && !path.endsWith('.sock')
  await cp(folderOf('ada'), folderOf('copy'), { recursive: true, filter: isData })
  const copy = await bob.boot({ ...asAda, SVC_DATA_DIR: folderOf('copy') })
  expect(copy.url).toBeNull()
  expect(await copy.errors()).toContain('is a copy of that of the server ada, which is running. Stop that server first')
  await ada.kill('SIGKILL')
  expect((await ada.boot()).url).not.toBeNull()
})

test('a paused server that was replaced under its name does nothing when it wakes', async () => {
  for (const each of [ada, bob]) expect((await each.boot()).url).not.toBeNull()
  const project = await FleetProject.make(fleet, ada)
  await project.replicaIsAt('bob')
  await ada.kill('SIGSTOP')
  await cp(join(folderOf('ada'), 'repositories'), join(folderOf('new'), 'repositories'), { recursive: true })
  await countAsGone(fleet, 'ada')
  expect((await cyd.boot({ ...asAda, SVC_DATA_DIR: folderOf('new') })).url).not.toBeNull()
  await project.commit('at-the-new-one.txt')
  expect(await project.push(cyd, 'HEAD:refs/heads/one')).toMatchObject({ code: 0 })
  await ada.kill('SIGCONT')
  await expectNothing(project, ada)
  expect(Object.keys(await project.tips(bob))).toContain('refs/heads/one')
})

test('a server on a new disk waits until the killed one of its name counts as ended', async () => {
  for (const each of [ada, bob]) expect((await each.boot()).url).not.toBeNull()
  await ada.kill('SIGKILL')
  // The next one may start slowly, and the lost lock would show the end of the killed one after 5 s.
  await fleet.query("update server_instances set lock_lost_at = now() + interval '15 s' where server_name = 'ada'")
  const next = await cyd.boot({ ...asAda, SVC_DATA_DIR: folderOf('new') })
  expect(next.url).not.toBeNull()
  await cyd.kill('SIGTERM')
  expect(await next.errors()).toContain('waiting until an earlier process of this server counts as ended')
})

test('a server with the name of a running one is refused, and is told when to try again', async () => {
  expect((await ada.boot()).url).not.toBeNull()
  const same = await cyd.boot({ ...asAda, SVC_DATA_DIR: folderOf('new') })
  expect(same.url).toBeNull()
  const errors = await same.errors()
  expect(errors).toContain('Another server with the name ada is running on this database')
  expect(errors).toContain('start again in 20 seconds')
})

test('of two servers that start with one new name, one runs', async () => {
  expect((await ada.boot()).url).not.toBeNull()
  const name = { SVC_SERVER_NAME: 'twin' }
  const twins = await Promise.all([bob.boot(name), cyd.boot(name)])
  const isUp = async ({ url }: FleetServer) => (await fetch(`${url}/health`).catch(() => null)) !== null
  await Promise.any(twins.map(({ child }) => child.exited))
  const up = await Promise.all([bob, cyd].map(isUp))
  expect(up.filter(Boolean)).toHaveLength(1)
})

test('a paused server that ran alone does nothing when it wakes after others took over', async () => {
  const repo = await makeRepo({ main: { 'a.txt': 'a' } })
  const host = await serveHttpBackend(repo.dir)
  try {
    expect((await ada.boot({ SVC_PEER_URL: '' })).url).not.toBeNull()
    const project = await FleetProject.adopt(fleet, ada, host.url)
    await commit(repo, 'topic', { 'b.txt': 'b' })
    const change = { title: 'topic', head_ref: 'topic' }
    const { cr_id } = await project.ask<{ cr_id: string }>(ada, 'POST', '/change-requests', change)
    await ada.kill('SIGSTOP')
    await countAsGone(fleet, 'ada')
    expect((await bob.boot()).url).not.toBeNull()
    await takeOver(fleet, bob, 'ada')
    await ada.kill('SIGCONT')
    const merged = await project.request(ada, 'POST', `/change-requests/${cr_id}/merge`).catch(() => null)
    expect(merged?.status ?? 503).toBe(503)
    const made = await fleet.request(ada, 'POST', '/v1/projects', { body: { name: 'late' } }).catch(() => null)
    expect(made?.status ?? 503).toBe(503)
    expect(await project.ask(bob, 'GET', `/change-requests/${cr_id}`)).toMatchObject({
      change_request: { status: 'open' },
    })
  } finally {
    await host.close()
  }
})
