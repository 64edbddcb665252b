/**
 * `npm run torture -- triggers [--ticks N] [--seed N] [--servers N]` kills real servers; `--in-process` runs many more ticks
 * in less time, with thrown errors as deaths.
 */
import { conclude, flags } from './run.ts'
import { tickTriggers } from './triggers/one-process.ts'
import { tortureTriggers } from './triggers/servers.ts'

const given = flags({ ticks: 10_000, seed: 1, servers: 3, many: 40, rate: 15, 'in-process': false })
const report = given['in-process']
  ? await tickTriggers(given)
  : await tortureTriggers({
      ...{ ...given, beforeMs: 4 * 60_000, afterMs: 24 * 60_000 },
      say: (line) => console.log(line),
    })
const { problems, ...did } = report
console.log(JSON.stringify(did, null, 2))
conclude(problems)
