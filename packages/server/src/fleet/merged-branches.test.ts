/** The home of a project deletes merged branches, the copy follows, and a take-over does not bring them back. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { until } from '../testing-until.ts'
import { type Fleet, type FleetServer, makeFleet } from './testing-fleet.ts'
import { countAsGone, FleetProject, takeOver } from './testing-work.ts'

let fleet: Fleet
let ada: FleetServer
let bob: FleetServer
const kept = { SVC_KEEP_BRANCHES: '7d' }

beforeAll(async () => {
  fleet = await makeFleet(['ada', 'bob'])
  ;[ada, bob] = fleet.servers as [FleetServer, FleetServer]
  expect((await ada.boot({}, { hasSandboxes: true })).url).not.toBeNull()
  expect((await bob.boot(kept)).url).not.toBeNull()
}, 120_000)
afterAll(() => fleet.close())

async function mergedSession(project: FleetProject): Promise<{ branch: string; crId: string }> {
  const session = await project.ask<{ session_id: string }>(ada, 'POST', '/sessions', {})
  const branch = session.session_id
  const is = async (status: string) =>
    (await project.ask<{ status: string }>(ada, 'GET', `/sessions/${branch}`)).status === status
  await until('the session to run', () => is('running'))
  const { cr_id: crId } = await project.changeRequest(ada, branch)
  await project.ask(ada, 'POST', `/change-requests/${crId}/merge`)
  await project.ask(ada, 'POST', `/sessions/${branch}/stop`)
  await until('the session to stop', () => is('stopped'))
  await fleet.query(`update change_requests set merged_at = now() - interval '8 days' where cr_id = $1`, [crId])
  return { branch, crId }
}

test('the home deletes a merged branch, and the next home does not have it either', async () => {
  const project = await FleetProject.make(fleet, ada)
  const { branch, crId } = await mergedSession(project)
  const diffAt = (server: FleetServer) =>
    project.ask<{ files: { path: string }[] }>(server, 'GET', `/change-requests/${crId}/diff`)
  const main = (await project.tips(ada))['refs/heads/main']
  // The other server has run the job, and starts again with it.
  await bob.kill('SIGKILL')
  expect((await bob.boot(kept)).url).not.toBeNull()
  expect(Object.keys(await project.tips(ada))).toContain(`refs/heads/${branch}`)

  await ada.kill('SIGKILL')
  expect((await ada.boot(kept, { hasSandboxes: true })).url).not.toBeNull()
  // The branch goes first. Only what is recorded outlives the home.
  await until('the deletion to be recorded', async () => {
    const [last] = await fleet.query<{ new_sha: string | null }>(
      'select new_sha from ref_changes where project_id = $1 and ref = $2 order by seq desc limit 1',
      [project.id, `refs/heads/${branch}`],
    )
    return last?.new_sha === null
  })
  expect(Object.keys(await project.tips(ada))).not.toContain(`refs/heads/${branch}`)

  await ada.kill('SIGKILL')
  await rm(join(fleet.dir, 'ada'), { recursive: true })
  await countAsGone(fleet, 'ada')
  const taken = await takeOver(fleet, bob, 'ada')
  expect(taken.projects).toMatchObject([{ project_id: project.id, outcome: 'taken', missing: [] }])
  const tips = await project.tips(bob)
  expect([tips['refs/heads/main'], tips[`refs/heads/${branch}`]]).toEqual([main, undefined])
  expect((await diffAt(bob)).files.map(({ path }) => path)).toEqual([`${branch}.txt`])
}, 240_000)
