import { expect, test } from 'bun:test'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { type FleetServer, makeFleet } from './testing-fleet.ts'
import { countAsGone, FleetProject, takeOver } from './testing-work.ts'

test('a take-over keeps the default branch that was set, and commits that only rows name: those of a closed change request without its branch', async () => {
  const fleet = await makeFleet(['ada', 'bob'])
  const [ada, bob] = fleet.servers
  try {
    expect((await ada!.boot()).url).not.toBeNull()
    const project = await FleetProject.make(fleet, ada!)
    const { cr_id } = await project.changeRequest(ada!, 'topic')
    await project.ask(ada!, 'POST', `/change-requests/${cr_id}/close`)
    expect((await project.push(ada!, ':refs/heads/topic')).code).toBe(0)
    expect((await project.push(ada!, 'HEAD:refs/heads/next')).code).toBe(0)
    await project.ask(ada!, 'PATCH', '', { default_branch: 'next' })
    const head = async (at: FleetServer) =>
      (await project.git('ls-remote', '--symref', `${at.url}/v1/projects/${project.id}/git`, 'HEAD')).output
    expect(await head(ada!)).toStartWith('ref: refs/heads/next\t')
    const before = await project.tips(ada!)
    expect((await bob!.boot()).url).not.toBeNull()
    await project.replicaIsAt('bob')
    await ada!.kill('SIGKILL')
    await rm(join(fleet.dir, 'ada'), { recursive: true })
    await countAsGone(fleet, 'ada')
    const taken = await takeOver(fleet, bob!, 'ada')
    expect(taken.projects).toMatchObject([{ outcome: 'taken', missing: [] }])
    const diff = await project.request(bob!, 'GET', `/change-requests/${cr_id}/diff`)
    expect([diff.status, (await diff.text()).includes('topic.txt')]).toEqual([200, true])
    expect(await project.tips(bob!)).toEqual(before)
    expect(await head(bob!)).toStartWith('ref: refs/heads/next\t')
  } finally {
    await fleet.close()
  }
}, 120_000)
