/** `npm run torture -- triggers [--ticks N] [--seed N]` */
import { parseArgs } from 'node:util'
import { tickTriggers } from './trigger-ticks.ts'

const { values } = parseArgs({
  options: { ticks: { type: 'string', default: '10000' }, seed: { type: 'string', default: '1' } },
})
const report = await tickTriggers({ ticks: Number(values.ticks), seed: Number(values.seed) })
process.stdout.write(`${JSON.stringify({ ...report, problems: report.problems.length }, null, 2)}\n`)
for (const problem of report.problems.slice(0, 50)) process.stdout.write(`${problem}\n`)
process.exitCode = report.problems.length > 0 ? 1 : 0
