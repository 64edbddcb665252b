/** A project whose new home is lost right after a move is still whole where it was, or at the server with its copy. */
import { expect, setDefaultTimeout, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { until } from '../../testing-until.ts'
import { makeFleet } from '../testing-fleet.ts'
import { countAsGone, FleetProject, takeOver } from '../testing-work.ts'

setDefaultTimeout(180_000)

test.each([
  { copyAt: 'bob', names: ['ada', 'bob'], newHome: 'ada' },
  { copyAt: 'cyd', names: ['ada', 'bob', 'cyd'], newHome: 'cyd' },
])('nothing is lost when the new home dies with its disk at the switch, and the copy was at $copyAt', async (of) => {
  const fleet = await makeFleet([...of.names])
  try {
    const [ada, bob, cyd] = fleet.servers
    expect((await ada!.boot()).url).not.toBeNull()
    if (cyd !== undefined) expect((await cyd.boot()).url).not.toBeNull()
    if (cyd === undefined) expect((await bob!.boot({ SVC_FAILPOINTS: 'move.after_switch=kill' })).url).not.toBeNull()
    const project = await FleetProject.make(fleet, ada!)
    await project.replicaIsAt(of.copyAt)
    const tips = await project.tips(ada!)
    if (cyd !== undefined) expect((await bob!.boot({ SVC_FAILPOINTS: 'move.after_switch=kill' })).url).not.toBeNull()
    await project.ask(ada!, 'POST', '/home', { server: 'bob' })
    await until('the project is at bob', async () => (await project.home()).home === 'bob')
    await bob!.kill('SIGKILL')
    await rm(join(fleet.dir, 'bob'), { recursive: true })
    await countAsGone(fleet, 'bob')
    const taken = await takeOver(fleet, ada!, 'bob')
    expect(taken.projects).toMatchObject([
      { project_id: project.id, outcome: 'taken', server: of.newHome, missing: [], is_stale: false },
    ])
    expect(await project.tips(ada!)).toEqual(tips)
    expect(existsSync(join(fleet.dir, of.newHome, 'repositories', `${project.id}.git`))).toBe(true)
  } finally {
    await fleet.close()
  }
})
