/** A take-over that accepts the loss of merges says which, and so does everything that shows their change requests. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { check } from '../backup/check/check.ts'
import { parseConfig } from '../config.ts'
import { until } from '../testing-until.ts'
import { type Fleet, type FleetServer, makeFleet } from './testing-fleet.ts'
import { countAsGone, FleetProject, takeOver } from './testing-work.ts'

let fleet: Fleet
let ada: FleetServer
let bob: FleetServer
let project: FleetProject
/** A session whose saved work is lost, too. */
let sessionId: string
/** In the order of their numbers: the first is in the copy, the second by its commit alone, the third not at all. */
const merged: string[] = []

const checkAt = ({ name }: FleetServer) =>
  check(
    parseConfig({
      DATABASE_URL: fleet.databaseUrl,
      SVC_DATA_DIR: join(fleet.dir, name),
      SVC_MASTER_KEY_FILE: join(fleet.dir, 'master.key'),
      SVC_SANDBOX_DRIVER: 'none',
    }),
    () => {},
  )

beforeAll(async () => {
  fleet = await makeFleet(['ada', 'bob'], { SVC_REPLICA: 'async' })
  ;[ada, bob] = fleet.servers as [FleetServer, FleetServer]
  expect((await ada.boot({}, { hasSandboxes: true })).url).not.toBeNull()
  expect((await bob.boot()).url).not.toBeNull()
  project = await FleetProject.make(fleet, ada)
  await project.replicaIsAt('bob')
  for (const branch of ['kept', 'known', 'gone']) merged.push((await project.changeRequest(ada, branch)).cr_id)
  const merge = (crId: string) => project.ask(ada, 'POST', `/change-requests/${crId}/merge`)
  await merge(merged[0]!)
  sessionId = (await project.ask<{ session_id: string }>(ada, 'POST', '/sessions', {})).session_id
  await project.ask(ada, 'POST', `/sessions/${sessionId}/stop`)
  await until('the copy to have the first merge', async () => {
    const rows = await fleet.query(
      `select 1 from project_replicas r join ref_counters c using (project_id)
        where r.project_id = $1 and r.applied_seq = c.seq`,
      [project.id],
    )
    return rows.length === 1
  })
  await ada.kill('SIGTERM')
  const file = join(fleet.dir, 'paused')
  expect((await ada.boot({ SVC_FAILPOINTS: `replica.before_send=pause:${file}` })).url).not.toBeNull()
  for (const crId of merged.slice(1)) await merge(crId)
  await saveWork(await project.commit('unfinished.txt'))
  await until('the copy to be about to get them', () => existsSync(file))
  await ada.kill('SIGKILL')
  await rm(join(fleet.dir, 'ada'), { recursive: true })
  await countAsGone(fleet, 'ada')
})
afterAll(() => fleet.close())

/** As the server does it for a sandbox. */
async function saveWork(commit: string): Promise<void> {
  const ref = `refs/svc/wip/${sessionId}`
  const repository = join(fleet.dir, 'ada/repositories', `${project.id}.git`)
  expect(await project.git(`--git-dir=${repository}`, 'fetch', '-q', project.work, `HEAD:${ref}`)).toMatchObject({
    code: 0,
  })
  await fleet.query(
    `with counted as (update ref_counters set seq = seq + 1 where project_id = $1 returning seq)
     insert into ref_changes (project_id, seq, ref, new_sha, epoch) select $1, seq, $2, $3, 1 from counted`,
    [project.id, ref, commit],
  )
  await fleet.query(
    'insert into session_wip (session_id, generation, commit_sha, files, unpushed_commits) values ($1, 1, $2, 1, 0)',
    [sessionId, commit],
  )
}

test('the take-over names the lost merges before and after it accepts the loss', async () => {
  const lost = ['known', 'gone'].map((branch, at) => ({
    cr_id: merged[at + 1],
    number: at + 2,
    title: branch,
    base_ref: 'main',
    head_ref: branch,
  }))
  const refused = await takeOver(fleet, bob, 'ada')
  expect(refused.projects).toMatchObject([{ outcome: 'would-lose', lost_merges: lost }])
  const taken = await takeOver(fleet, bob, 'ada', { accept_loss: true })
  expect(taken.projects).toMatchObject([{ outcome: 'taken', server: 'bob', lost_merges: lost }])
  const work = { ref: `refs/svc/wip/${sessionId}`, acknowledged: expect.any(String), copy: null }
  expect(taken.projects[0]!.missing).toContainEqual(work)
  const [audited] = await fleet.query<{ after: object }>(
    `select after from audit_events where action = 'server.take_over' order by event_id desc limit 1`,
  )
  expect(audited!.after).toMatchObject({ lost_merges: [{ number: 2 }, { number: 3 }] })
})

test('a change request whose merge was lost says so', async () => {
  const { summaries } = await project.ask<{ summaries: Record<string, { merge_lost?: object }> }>(
    bob,
    'GET',
    '/change-requests?include=summary',
  )
  const lost = { server: 'ada', at: expect.any(String) }
  expect(merged.map((crId) => summaries[crId]!.merge_lost)).toEqual([undefined, lost, lost])
  const reopened = await project.request(bob, 'POST', `/change-requests/${merged[2]}/reopen`)
  expect([reopened.status, await reopened.json()]).toMatchObject([
    409,
    { hint: 'Its merge was lost when ada was taken over. To merge it again, open a new change request of gone.' },
  ])
  const diffs = merged.map(async (crId) => {
    const diff = await project.request(bob, 'GET', `/change-requests/${crId}/diff`)
    return [diff.status, ((await diff.json()) as { code?: string }).code]
  })
  // The third began from the second, whose commit is gone.
  expect(await Promise.all(diffs)).toEqual([
    [200, undefined],
    [200, undefined],
    [400, 'ref_not_found'],
  ])
  const verified = await project.ask(bob, 'GET', `/change-requests/${merged[2]}/verify`)
  expect(verified).toMatchObject({ verified: false, reason: 'It was lost when ada was taken over.' })
})

test('the new home works on from the copy, and a check finds no disagreement', async () => {
  expect((await checkAt(bob)).disagreements).toEqual([])
  await project.git('fetch', '-q', `${bob.url}/v1/projects/${project.id}/git`, 'main')
  await project.git('checkout', '-q', '-b', 'next', 'FETCH_HEAD')
  await project.commit('next.txt')
  expect(await project.push(bob, 'HEAD:refs/heads/next')).toMatchObject({ code: 0 })
  const again = { title: 'gone', head_ref: 'gone' }
  const { cr_id } = await project.ask<{ cr_id: string }>(bob, 'POST', '/change-requests', again)
  await project.ask(bob, 'POST', `/change-requests/${cr_id}/merge`)
  expect((await checkAt(bob)).disagreements).toEqual([])
})
