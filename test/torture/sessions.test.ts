/** A small run of the torture of sessions: a few cycles in real sandboxes, with servers and what is in the sandboxes killed. */
import { expect, test } from 'bun:test'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { leaksInDatabase, leaksOnMachine } from './sandbox-leaks.ts'
import { buildTortureProgram } from './program.ts'
import { rest, sessionChaos } from './session-chaos.ts'
import { TortureServer } from './server.ts'
import { randomFrom } from './random.ts'
import { World } from './world.ts'

test('sessions end up running, stopped or failed, and leave nothing behind', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'svc-ts-'))
  const server = await TortureServer.make({ program: await buildTortureProgram(dir) })
  const world = await World.make(server)
  try {
    await server.start({ sandboxes: true })
    await world.makeProjects()
    await server.kill('SIGTERM')
    const report = await sessionChaos(world, { cycles: 6, workers: 2, random: randomFrom(42), killServers: true })
    await rest(world, report)
    report.problems.push(...(await leaksInDatabase(await server.databaseUrl())))
    await server.kill('SIGTERM')
    report.problems.push(...leaksOnMachine(server.dataDir, report.seen))
    expect(report.problems).toEqual([])
    expect(report.cycles).toBe(6)
    expect(report.seen.length).toBeGreaterThan(0)
  } finally {
    await world.close()
    await rm(dir, { recursive: true, force: true })
  }
}, 600_000)
