/** A change of a repository is acknowledged only with its copy on another server, whatever happens to that server. */
import { afterAll, afterEach, beforeAll, expect, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { until } from '../testing-until.ts'
import { type Fleet, type FleetServer, makeFleet } from './testing-fleet.ts'
import { FleetProject } from './testing-work.ts'

let fleet: Fleet
let ada: FleetServer
let bob: FleetServer
let cyd: FleetServer

beforeAll(async () => {
  fleet = await makeFleet(['ada', 'bob', 'cyd'])
  ;[ada, bob, cyd] = fleet.servers as [FleetServer, FleetServer, FleetServer]
  expect((await ada.boot()).url).not.toBeNull()
  expect((await bob.boot()).url).not.toBeNull()
}, 120_000)
afterEach(async () => {
  // So that a test that failed half-way leaves the others a server.
  await bob.kill('SIGKILL')
  expect((await bob.boot()).url).not.toBeNull()
}, 120_000)
afterAll(() => fleet.close())

const mirrored = async (project: FleetProject, at: FleetServer) => {
  const dir = join(fleet.dir, at.name, 'replicas', `${project.id}.git`)
  const [mine, copied] = await Promise.all(
    [join(fleet.dir, 'ada/repositories', `${project.id}.git`), dir].map(async (each) => {
      const child = Bun.spawn([
        'git',
        '--git-dir',
        each,
        'for-each-ref',
        '--format=%(objectname) %(refname)',
        'refs/heads',
        'refs/svc',
      ])
      return new Response(child.stdout).text()
    }),
  )
  return mine === copied
}

test('a restart of the server with the copy delays a push and fails none', async () => {
  const project = await FleetProject.make(fleet, ada)
  await bob.kill('SIGKILL')
  await project.commit('while-away.txt')
  const pushing = project.push(ada, 'HEAD:refs/heads/topic')
  expect((await bob.boot()).url).not.toBeNull()
  expect(await pushing).toMatchObject({ code: 0 })
  await until('the copy to follow', () => mirrored(project, bob))
}, 120_000)

test('a home that was just started waits for a restart of the server with the copy, too', async () => {
  const project = await FleetProject.make(fleet, ada)
  await Promise.all([ada, bob].map((each) => each.kill('SIGKILL')))
  expect((await ada.boot()).url).not.toBeNull()
  await project.commit('while-away.txt')
  const pushing = project.push(ada, 'HEAD:refs/heads/topic')
  expect((await bob.boot()).url).not.toBeNull()
  expect(await pushing).toMatchObject({ code: 0 })
}, 120_000)

test('without a server for the copy a merge changes nothing and says why', async () => {
  const project = await FleetProject.make(fleet, ada)
  // The second merge makes a commit, which a copy needs.
  const first = await project.changeRequest(ada, 'first')
  const { cr_id } = await project.changeRequest(ada, 'topic')
  await project.ask(ada, 'POST', `/change-requests/${first.cr_id}/merge`)
  const before = await project.tips(ada)
  await bob.kill('SIGKILL')
  const refused = await project.request(ada, 'POST', `/change-requests/${cr_id}/merge`)
  const body = (await refused.json()) as { code: string; error: string; hint: string }
  expect([refused.status, body.code]).toEqual([503, 'unavailable'])
  expect(body.error).toContain('copy of this project')
  expect(body.hint).toBe('Try again in a moment. If it fails for minutes, ask the operator of this service.')
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
  expect(await project.tips(ada)).toEqual(before)
  await project.commit('new.txt')
  const push = await project.push(ada, 'HEAD:refs/heads/other')
  expect([push.code, push.errors]).toEqual([1, expect.stringContaining('Nothing was acknowledged')])
  expect(await project.tips(ada)).toEqual(before)
  expect((await bob.boot()).url).not.toBeNull()
  const merged = await project.ask<{ change_request: { status: string } }>(
    ada,
    'POST',
    `/change-requests/${cr_id}/merge`,
  )
  expect(merged.change_request.status).toBe('merged')
  await until('the copy to follow', () => mirrored(project, bob))
}, 180_000)

test('a merge whose folders its home had, as of a check, has them at the copy, too', async () => {
  const project = await FleetProject.make(fleet, ada)
  const first = await project.changeRequest(ada, 'first')
  const { cr_id, head } = await project.changeRequest(ada, 'topic')
  await project.ask(ada, 'POST', `/change-requests/${first.cr_id}/merge`)
  const home = join(fleet.dir, 'ada/repositories', `${project.id}.git`)
  const checked = ['git', '--git-dir', home, 'merge-tree', '--write-tree', first.head, head]
  expect(await Bun.spawn(checked, { stdout: 'ignore' }).exited).toBe(0)
  const { merge } = await project.ask<{ merge: { merge_commit_sha: string } }>(
    ada,
    'POST',
    `/change-requests/${cr_id}/merge`,
  )
  const copy = join(fleet.dir, 'bob/replicas', `${project.id}.git`)
  const listing = ['git', '--git-dir', copy, 'rev-list', '--objects', '--quiet', merge.merge_commit_sha]
  expect(await new Response(Bun.spawn(listing, { stderr: 'pipe' }).stderr).text()).toBe('')
}, 180_000)

test('a push that leaves out what its home has of a deleted branch has that at the copy, too', async () => {
  const project = await FleetProject.make(fleet, ada)
  await project.git('checkout', '-q', '-b', 'gone')
  await project.commit('gone.txt')
  expect(await project.push(ada, 'HEAD:refs/heads/gone')).toMatchObject({ code: 0 })
  expect(await project.push(ada, ':refs/heads/gone')).toMatchObject({ code: 0 })
  const copy = join(fleet.dir, 'bob/replicas', `${project.id}.git`)
  await bob.kill('SIGKILL')
  await rm(copy, { recursive: true })
  expect((await bob.boot()).url).not.toBeNull()
  await until('the copy is made anew', () => existsSync(copy) && mirrored(project, bob))
  await project.replicaIsAt('bob')
  const head = await project.commit('on-top.txt')
  const url = `${ada.url}/v1/projects/${project.id}/git`
  const pushed = await project.git('-c', 'push.negotiate=true', 'push', url, 'HEAD:refs/heads/topic')
  expect(pushed).toMatchObject({ code: 0, errors: expect.not.stringContaining('negotiation failed') })
  const listing = ['git', '--git-dir', copy, 'rev-list', '--objects', '--quiet', head]
  expect(await new Response(Bun.spawn(listing, { stderr: 'pipe' }).stderr).text()).toBe('')
}, 180_000)

test.each(['replica.before_objects', 'replica.after_objects', 'replica.before_refs'])(
  'a push is accepted although the server with the copy dies at %s',
  async (point) => {
    const project = await FleetProject.make(fleet, ada)
    await bob.kill('SIGTERM')
    if (point === 'replica.before_refs') await rm(join(fleet.dir, 'bob/replicas'), { recursive: true })
    const dying = await bob.boot({ SVC_FAILPOINTS: `${point}=kill@1` })
    await project.commit('while-away.txt')
    const pushing = project.push(ada, 'HEAD:refs/heads/topic')
    await dying.child.exited
    expect((await bob.boot()).url).not.toBeNull()
    expect(await pushing).toMatchObject({ code: 0 })
    await until('the copy to follow', () => mirrored(project, bob))
  },
  120_000,
)

test('another server gets the copy when the one with it does not come back, and the old one is removed', async () => {
  const project = await FleetProject.make(fleet, ada)
  expect((await cyd.boot()).url).not.toBeNull()
  await bob.kill('SIGKILL')
  await project.commit('while-away.txt')
  expect(await project.push(ada, 'HEAD:refs/heads/topic')).toMatchObject({ code: 0 })
  expect((await project.replica())?.server).toBe('cyd')
  await until('the copy to follow', () => mirrored(project, cyd))
  expect((await bob.boot()).url).not.toBeNull()
  const old = join(fleet.dir, 'bob/replicas', `${project.id}.git`)
  await until('the old copy to be removed', () => !existsSync(old))
  await cyd.kill('SIGTERM')
}, 180_000)

test('the copy of a purged project is removed', async () => {
  const project = await FleetProject.make(fleet, ada)
  const { server } = (await project.replica())!
  const gone = await fleet.request(ada, 'DELETE', `/v1/projects/${project.id}?purge=true`)
  expect(gone.status).toBe(200)
  const keeper = fleet.servers.find(({ name }) => name === server)!
  // A server sweeps at its start.
  await keeper.kill('SIGTERM')
  expect((await keeper.boot()).url).not.toBeNull()
  await until('the copy to be removed', async () => {
    const names = await readdir(join(fleet.dir, server, 'replicas'))
    return !names.includes(`${project.id}.git`)
  })
}, 120_000)
