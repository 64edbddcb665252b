/**
 * `npm run torture -- sessions` starts, stops and deletes sessions while servers, daemons, runtimes and sandboxes are killed,
 * and checks that nothing hangs or remains.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { leaksInDatabase, leaksOnMachine } from './sandbox-leaks.ts'
import { buildTortureProgram } from './program.ts'
import { randomFrom } from './random.ts'
import { rest, sessionChaos } from './session-chaos.ts'
import { TortureServer } from './server.ts'
import { World } from './world.ts'

const { values } = parseArgs({
  options: {
    cycles: { type: 'string', default: '300' },
    workers: { type: 'string', default: '4' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
  },
})

const dir = await mkdtemp(join(tmpdir(), 'svc-ts-'))
console.log(`seed ${values.seed}`)
try {
  process.exitCode = (await torture()) > 0 ? 1 : 0
} finally {
  await rm(dir, { recursive: true, force: true })
}

async function torture(): Promise<number> {
  const server = await TortureServer.make({ program: await buildTortureProgram(dir) })
  const world = await World.make(server)
  try {
    await server.start({ sandboxes: true })
    await world.makeProjects()
    await server.kill('SIGTERM')
    const began = performance.now()
    const options = { cycles: Number(values.cycles), workers: Number(values.workers), killServers: true }
    const report = await sessionChaos(world, { ...options, random: randomFrom(Number(values.seed)) })
    await rest(world, report)
    const minutes = ((performance.now() - began) / 60_000).toFixed(1)
    const slowest = Math.max(0, ...report.settledMs)
    console.log(`${report.cycles} cycles in ${minutes} min, ${report.warm} began in a warm sandbox`)
    console.log(
      `killed: ${Object.entries(report.kills)
        .map(([what, count]) => `${what} ${count}`)
        .join(', ')}`,
    )
    console.log(`a server died at ${report.points.size} failpoints: ${[...report.points].sort().join(', ')}`)
    console.log(`settled ${report.settledMs.length} times, the slowest after ${(slowest / 1000).toFixed(1)} s`)
    report.problems.push(...(await leaksInDatabase(await server.databaseUrl())))
    await server.kill('SIGTERM')
    report.problems.push(...leaksOnMachine(server.dataDir, report.seen))
    console.log(`${report.problems.length} problems`)
    for (const problem of report.problems.slice(0, 40)) console.log(`  ${problem.slice(0, 600)}`)
    return report.problems.length
  } finally {
    await world.close()
  }
}
