/**
 * `npm run torture -- sessions` starts, stops and deletes sessions while servers, daemons, runtimes and sandboxes are killed,
 * and checks that nothing hangs or remains.
 */
import { leaksInDatabase } from './sandbox-leaks.ts'
import { randomFrom } from './random.ts'
import { conclude, flags, withSandboxes } from './run.ts'
import { rest, sessionChaos } from './session-chaos.ts'
import { repositoryKinds } from './world.ts'

const { cycles, workers, seed } = flags({ cycles: 300, workers: 4, seed: Date.now() % 1_000_000 })
console.log(`seed ${seed}`)
const report = await withSandboxes({ kinds: repositoryKinds }, async (world) => {
  await world.server.kill('SIGTERM')
  const chaos = await sessionChaos(world, { cycles, workers, killServers: true, random: randomFrom(seed) })
  await rest(world, chaos)
  chaos.problems.push(...(await leaksInDatabase(await world.server.databaseUrl())))
  return chaos
})
const slowest = Math.max(0, ...report.settledMs)
console.log(`${report.cycles} cycles, ${report.warm} began in a warm sandbox`)
const kills = Object.entries(report.kills).map(([what, count]) => `${what} ${count}`)
console.log(`killed: ${kills.join(', ')}`)
console.log(`a server died at ${report.points.size} failpoints: ${[...report.points].sort().join(', ')}`)
console.log(`settled ${report.settledMs.length} times, the slowest after ${(slowest / 1000).toFixed(1)} s`)
conclude(report.problems)
