/**
 * `npm run torture -- apps [--acts N] [--seed N]` kills the server of apps in real sandboxes at each step of a deploy, then
 * checks that exactly the wanted apps run again.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { tortureApps } from './apps/kills.ts'
import { buildTortureProgram } from './program.ts'
import { randomFrom } from './random.ts'
import { leaksOnMachine } from './sandbox-leaks.ts'
import { TortureServer } from './server.ts'
import { World } from './world.ts'

const { values } = parseArgs({
  options: { acts: { type: 'string', default: '100' }, seed: { type: 'string', default: '1' } },
})
const dir = await mkdtemp(join(tmpdir(), 'svc-ta-'))
const began = performance.now()
const server = await TortureServer.make({ program: await buildTortureProgram(dir) })
const world = await World.make(server)
let failed = 1
try {
  await server.start({ sandboxes: true })
  await world.makeProjects(['managed'])
  const report = await tortureApps(world, { acts: Number(values.acts), random: randomFrom(Number(values.seed)) })
  await server.kill('SIGTERM')
  const { problems, seen, settledMs, ...did } = report
  problems.push(...leaksOnMachine(server.dataDir, seen))
  console.log(JSON.stringify(did, null, 2))
  const slowest = (Math.max(...settledMs) / 1000).toFixed(1)
  const minutes = ((performance.now() - began) / 60_000).toFixed(1)
  console.log(
    `${seen.length} processes of sandboxes; settled ${settledMs.length} times, the slowest after ${slowest} s`,
  )
  console.log(`${minutes} min`)
  console.log(`${problems.length} problems`)
  for (const problem of problems.slice(0, 50)) console.log(`  ${problem.slice(0, 600)}`)
  failed = problems.length > 0 ? 1 : 0
} finally {
  await world.close()
  await rm(dir, { recursive: true, force: true })
}
process.exit(failed)
