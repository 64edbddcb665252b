/** The server that takes a project over dies in the middle: the next attempt completes it, with everything. */
import { expect, test } from 'bun:test'
import { rename } from 'node:fs/promises'
import { join } from 'node:path'
import { makeFleet } from './testing-fleet.ts'
import { FleetProject, takeOver, countAsGone } from './testing-work.ts'

test.each(['promote.before_files', 'promote.before_row', 'promote.after_row'])(
  'killed at %s',
  async (point) => {
    const fleet = await makeFleet(['ada', 'bob', 'cyd'])
    const [ada, bob, cyd] = fleet.servers
    try {
      expect((await ada!.boot()).url).not.toBeNull()
      expect((await bob!.boot({ SVC_FAILPOINTS: `${point}=kill` })).url).not.toBeNull()
      const project = await FleetProject.make(fleet, ada!)
      await project.changeRequest(ada!, 'topic')
      await project.replicaIsAt('bob')
      const before = await project.tips(ada!)
      expect((await cyd!.boot()).url).not.toBeNull()
      await ada!.kill('SIGKILL')
      await countAsGone(fleet, 'ada')
      const interrupted = await takeOver(fleet, cyd!, 'ada')
      const isTaken = point === 'promote.after_row'
      const outcome = isTaken ? { outcome: 'taken', server: 'bob' } : { outcome: 'copy-not-running', server: 'bob' }
      expect(interrupted.projects).toMatchObject([outcome])

      expect((await bob!.boot()).url).not.toBeNull()
      const again = await takeOver(fleet, cyd!, 'ada')
      expect(again.projects).toMatchObject(isTaken ? [] : [{ outcome: 'taken', server: 'bob', missing: [] }])
      expect((await project.home()).home).toBe('bob')
      expect(await project.tips(cyd!)).toEqual(before)
      await project.replicaIsAt('cyd')
      expect((await project.push(cyd!, 'HEAD:refs/heads/later')).code).toBe(0)
    } finally {
      await fleet.close()
    }
  },
  120_000,
)

test('a project that cannot be taken says why, and the others are taken', async () => {
  const fleet = await makeFleet(['ada', 'bob'])
  const [ada, bob] = fleet.servers
  try {
    const env = { SVC_FILE_REPOSITORY_ROOTS: fleet.dir }
    for (const server of [ada!, bob!]) expect((await server.boot(env)).url).not.toBeNull()
    const host = join(fleet.dir, 'host.git')
    const kept = await FleetProject.make(fleet, ada!)
    await kept.git('clone', '-q', '--bare', '.', host)
    const stuck = await FleetProject.adopt(fleet, ada!, `file://${host}`)
    for (const project of [stuck, kept]) await project.replicaIsAt('bob')
    await rename(host, `${host}.away`)
    await ada!.kill('SIGKILL')
    await countAsGone(fleet, 'ada')
    const { projects } = await takeOver(fleet, bob!, 'ada')
    expect(projects).toHaveLength(2)
    expect(projects).toContainEqual(expect.objectContaining({ project_id: kept.id, outcome: 'taken', server: 'bob' }))
    expect(projects.find(({ project_id }) => project_id === stuck.id)).toMatchObject({
      outcome: 'failed',
      server: 'bob',
      error: expect.stringContaining('mirror'),
    })
    await rename(`${host}.away`, host)
    expect((await takeOver(fleet, bob!, 'ada')).projects).toMatchObject([{ project_id: stuck.id, outcome: 'taken' }])
  } finally {
    await fleet.close()
  }
}, 120_000)

test('two take-overs at once both name the new home', async () => {
  const fleet = await makeFleet(['ada', 'bob', 'cyd'])
  const [ada, bob, cyd] = fleet.servers
  try {
    expect((await ada!.boot()).url).not.toBeNull()
    expect((await bob!.boot({ SVC_FAILPOINTS: 'promote.before_files=delay:2000' })).url).not.toBeNull()
    const project = await FleetProject.make(fleet, ada!)
    await project.replicaIsAt('bob')
    expect((await cyd!.boot()).url).not.toBeNull()
    await ada!.kill('SIGKILL')
    await countAsGone(fleet, 'ada')
    const both = await Promise.all([bob!, cyd!].map((server) => takeOver(fleet, server, 'ada')))
    const taken = { projects: [{ outcome: 'taken', server: 'bob' }], remaining: 0 }
    expect(both).toMatchObject([taken, taken])
  } finally {
    await fleet.close()
  }
}, 120_000)
