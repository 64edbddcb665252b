/** A short run of `npm run torture -- apps`: a server dies during a deploy, and while it restores what it served. */
import { expect, test } from 'bun:test'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { tortureApps } from './apps/kills.ts'
import { buildTortureProgram } from './program.ts'
import { randomFrom } from './random.ts'
import { leaksOnMachine } from './sandbox-leaks.ts'
import { TortureServer } from './server.ts'
import { World } from './world.ts'

test('a server that is killed during a deploy leaves the app in the desired state, and no extra sandbox', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'svc-ta-'))
  const server = await TortureServer.make({ program: await buildTortureProgram(dir) })
  const world = await World.make(server)
  try {
    await server.start({ sandboxes: true })
    await world.makeProjects(['managed'])
    const report = await tortureApps(world, { acts: 2, random: randomFrom(3) })
    await server.kill('SIGTERM')
    expect([...report.problems, ...leaksOnMachine(server.dataDir, report.seen)]).toEqual([])
    expect(Object.keys(report.kills).length).toBeGreaterThan(0)
  } finally {
    await world.close()
    await rm(dir, { recursive: true, force: true })
  }
}, 300_000)
