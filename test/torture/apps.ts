/**
 * `npm run torture -- apps [--acts N] [--seed N]` kills the server of apps in real sandboxes at each step of a deploy, then
 * checks that exactly the wanted apps run again.
 */
import { tortureApps } from './apps/kills.ts'
import { randomFrom } from './random.ts'
import { conclude, flags, withSandboxes } from './run.ts'

const { acts, seed } = flags({ acts: 100, seed: 1 })
const report = await withSandboxes({ kinds: ['managed'] }, (world) =>
  tortureApps(world, { acts, random: randomFrom(seed) }),
)
const { problems, seen, settledMs, ...did } = report
console.log(JSON.stringify(did, null, 2))
const slowest = (Math.max(...settledMs) / 1000).toFixed(1)
console.log(`${seen.length} processes of sandboxes; settled ${settledMs.length} times, the slowest after ${slowest} s`)
conclude(problems)
