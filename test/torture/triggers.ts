/**
 * `npm run torture -- triggers [--ticks N] [--seed N] [--servers N]` kills real servers; `--in-process` runs many more ticks in
 * less time, with thrown errors as deaths.
 */
import { parseArgs } from 'node:util'
import { tickTriggers } from './triggers/one-process.ts'
import { tortureTriggers } from './triggers/servers.ts'

const { values } = parseArgs({
  options: {
    ticks: { type: 'string', default: '10000' },
    seed: { type: 'string', default: '1' },
    servers: { type: 'string', default: '3' },
    many: { type: 'string', default: '40' },
    rate: { type: 'string', default: '15' },
    'in-process': { type: 'boolean', default: false },
  },
})
const began = performance.now()
const [ticks, seed] = [Number(values.ticks), Number(values.seed)]
const report = values['in-process']
  ? await tickTriggers({ ticks, seed })
  : await tortureTriggers({
      ...{ ticks, seed, servers: Number(values.servers), many: Number(values.many), rate: Number(values.rate) },
      ...{ beforeMs: 4 * 60_000, afterMs: 24 * 60_000, say: (line) => console.log(line) },
    })
const { problems, ...did } = report
console.log(JSON.stringify(did, null, 2))
console.log(`${((performance.now() - began) / 60_000).toFixed(1)} min`)
console.log(`${problems.length} problems`)
for (const problem of problems.slice(0, 50)) console.log(`  ${problem}`)
process.exit(problems.length > 0 ? 1 : 0)
