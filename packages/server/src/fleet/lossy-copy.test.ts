/** A copy that lies behind is never used for a take-over without saying so. */
import { afterEach, beforeEach, expect, test } from 'bun:test'
import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { cp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { commit, type HttpBackend, makeRepo, serveHttpBackend } from '@svc/git/testing'
import { until } from '../testing-until.ts'
import { type Fleet, type FleetServer, makeFleet } from './testing-fleet.ts'
import { FleetProject, takeOver, countAsGone } from './testing-work.ts'

let fleet: Fleet
let ada: FleetServer
let bob: FleetServer
let host: HttpBackend | null = null
beforeEach(async () => {
  fleet = await makeFleet(['ada', 'bob'], { SVC_REPLICA: 'async' })
  ;[ada, bob] = fleet.servers as [FleetServer, FleetServer]
  expect((await ada.boot()).url).not.toBeNull()
  expect((await bob.boot()).url).not.toBeNull()
}, 120_000)
afterEach(async () => {
  await fleet.close()
  await host?.close()
})

test('with async a push that the copy never got is listed, and its project is taken only with consent', async () => {
  const project = await FleetProject.make(fleet, ada)
  await project.replicaIsAt('bob')
  await until('the first push to be copied', async () => (await project.replica())!.acknowledged_seq >= 1)
  await ada.kill('SIGTERM')
  const file = join(fleet.dir, 'paused')
  expect((await ada.boot({ SVC_FAILPOINTS: `replica.before_send=pause:${file}` })).url).not.toBeNull()
  const before = await project.tips(ada)
  const lost = await project.commit('lost.txt')
  expect(await project.push(ada, 'HEAD:refs/heads/lost')).toMatchObject({ code: 0 })
  await until('the copy to be about to get it', () => existsSync(file))
  await ada.kill('SIGKILL')
  await rm(join(fleet.dir, 'ada'), { recursive: true })
  await countAsGone(fleet, 'ada')

  const refused = await takeOver(fleet, bob, 'ada')
  const missing = [{ ref: 'refs/heads/lost', acknowledged: lost, copy: null }]
  expect(refused.projects).toMatchObject([{ project_id: project.id, outcome: 'would-lose', missing }])
  expect((await project.home()).home).toBe('ada')
  const taken = await takeOver(fleet, bob, 'ada', { accept_loss: true })
  expect(taken.projects).toMatchObject([{ project_id: project.id, outcome: 'taken', missing }])
  expect(await project.tips(bob)).toEqual(before)
}, 180_000)

test('a copy from before changes that the log has forgotten is taken only with consent', async () => {
  const project = await FleetProject.make(fleet, ada)
  await project.replicaIsAt('bob')
  const copy = join(fleet.dir, 'bob/replicas', `${project.id}.git`)
  const followed = (seq: number) =>
    until('the copy to follow', async () => {
      const rows = await fleet.query('select 1 from project_replicas where applied_seq = $1', [seq])
      return rows.length === 1
    })
  await followed(1)
  await cp(copy, join(fleet.dir, 'snapshot'), { recursive: true })
  await project.commit('later.txt')
  expect(await project.push(ada, 'HEAD:refs/heads/later')).toMatchObject({ code: 0 })
  await followed(2)
  await ada.kill('SIGKILL')
  await rm(join(fleet.dir, 'ada'), { recursive: true })
  await countAsGone(fleet, 'ada')
  // The copy had followed them a week ago.
  await fleet.query('delete from ref_changes')
  await rm(copy, { recursive: true })
  await cp(join(fleet.dir, 'snapshot'), copy, { recursive: true })

  const refused = await takeOver(fleet, bob, 'ada')
  expect(refused.projects).toMatchObject([{ project_id: project.id, outcome: 'would-lose', is_stale: true }])
  const taken = await takeOver(fleet, bob, 'ada', { accept_loss: true })
  expect(taken.projects).toMatchObject([{ project_id: project.id, outcome: 'taken', is_stale: true }])
  expect((await project.home()).home).toBe('bob')
}, 180_000)

test('a copy has the work whose newest save its home could not record', async () => {
  const project = await FleetProject.make(fleet, ada)
  await project.replicaIsAt('bob')
  const before = await project.commit('before.txt')
  const newest = await project.commit('newest.txt')
  expect(await project.push(ada, 'HEAD:refs/heads/work')).toMatchObject({ code: 0 })
  const ref = `refs/svc/wip/${randomUUID()}`
  const repository = join(fleet.dir, 'ada/repositories', `${project.id}.git`)
  const move = (sha: string) => Bun.spawnSync(['git', '--git-dir', repository, 'update-ref', ref, sha]).exitCode
  expect(move(before)).toBe(0)
  await fleet.query(
    `with counted as (update ref_counters set seq = seq + 1 where project_id = $1 returning seq)
     insert into ref_changes (project_id, seq, ref, new_sha, epoch) select $1, seq, $2, $3, 1 from counted`,
    [project.id, ref, before],
  )
  expect(move(newest)).toBe(0)
  await bob.kill('SIGKILL')
  await rm(join(fleet.dir, 'bob/replicas'), { recursive: true })
  await fleet.query('delete from project_replicas')
  expect((await bob.boot()).url).not.toBeNull()
  await project.replicaIsAt('bob')
  await ada.kill('SIGKILL')
  await rm(join(fleet.dir, 'ada'), { recursive: true })
  await countAsGone(fleet, 'ada')

  const taken = await takeOver(fleet, bob, 'ada')
  expect(taken.projects).toMatchObject([{ project_id: project.id, outcome: 'taken', missing: [] }])
  const taker = join(fleet.dir, 'bob/repositories', `${project.id}.git`)
  const { stdout } = Bun.spawnSync(['git', '--git-dir', taker, 'rev-parse', ref])
  expect(stdout.toString().trim()).toBe(newest)
}, 180_000)

test('a project is not taken while the server with its copy does not run, and without any copy', async () => {
  const project = await FleetProject.make(fleet, ada)
  await project.replicaIsAt('bob')
  await ada.kill('SIGKILL')
  await countAsGone(fleet, 'ada')
  await rm(join(fleet.dir, 'bob/replicas'), { recursive: true })
  const left = await takeOver(fleet, bob, 'ada', { accept_loss: true })
  expect(left.projects).toMatchObject([{ project_id: project.id, outcome: 'no-copy' }])
  expect((await project.home()).home).toBe('ada')
}, 120_000)

test('an external project goes on from its host, with the kept commits of its merges from the copy', async () => {
  const repo = await makeRepo({ main: { 'a.txt': 'a' } })
  host = await serveHttpBackend(repo.dir)
  const project = await FleetProject.adopt(fleet, ada, host.url)
  await commit(repo, 'topic', { 'b.txt': 'b' })
  const opened = { title: 'topic', head_ref: 'topic' }
  const { cr_id } = await project.ask<{ cr_id: string }>(ada, 'POST', '/change-requests', opened)
  await project.ask(ada, 'POST', `/change-requests/${cr_id}/merge`)
  await project.replicaIsAt('bob')
  await until('the merge to be copied', async () => (await project.replica())!.acknowledged_seq >= 2)
  await ada.kill('SIGKILL')
  await rm(join(fleet.dir, 'ada'), { recursive: true })
  await countAsGone(fleet, 'ada')
  const taken = await takeOver(fleet, bob, 'ada')
  expect(taken.projects).toMatchObject([{ project_id: project.id, outcome: 'taken', missing: [] }])
  const diff = await project.request(bob, 'GET', `/change-requests/${cr_id}/diff`)
  expect([diff.status, (await diff.text()).includes('b.txt')]).toEqual([200, true])
  const refs = Bun.spawn([
    'git',
    '--git-dir',
    join(fleet.dir, 'bob/mirrors', `${project.id}.git`),
    'for-each-ref',
    'refs/svc',
  ])
  expect(await new Response(refs.stdout).text()).toContain('refs/svc/cr/1/head')
}, 180_000)
