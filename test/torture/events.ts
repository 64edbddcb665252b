/**
 * `npm run torture -- events [--events N] [--seed N] [--servers N]` kills servers while events are read and sent, and checks
 * that none is lost or out of order.
 */
import { parseArgs } from 'node:util'
import { tortureEvents } from './events/servers.ts'

const { values } = parseArgs({
  options: {
    events: { type: 'string', default: '3000' },
    seed: { type: 'string', default: '1' },
    servers: { type: 'string', default: '3' },
    clients: { type: 'string', default: '3' },
    readers: { type: 'string', default: '4' },
  },
})
const began = performance.now()
const { problems, ...did } = await tortureEvents({
  ...{ events: Number(values.events), seed: Number(values.seed), servers: Number(values.servers) },
  ...{ clients: Number(values.clients), readers: Number(values.readers), lifeMs: { min: 2_000, max: 15_000 } },
  say: (line) => console.log(line),
})
console.log(JSON.stringify(did, null, 2))
console.log(`${((performance.now() - began) / 60_000).toFixed(1)} min`)
console.log(`${problems.length} problems`)
for (const problem of problems.slice(0, 50)) console.log(`  ${problem.slice(0, 600)}`)
process.exit(problems.length > 0 ? 1 : 0)
