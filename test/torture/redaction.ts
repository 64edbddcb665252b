/** `npm run torture -- redaction [--splits N] [--seed N]` */
import { parseArgs } from 'node:util'
import { seeded, trySplits } from '../../packages/server/src/redaction/testing-splits.ts'

const { values } = parseArgs({
  options: { splits: { type: 'string', default: '100000' }, seed: { type: 'string', default: '1' } },
})
const perText = 10
const random = seeded(Number(values.seed))
const began = performance.now()
let splits = 0
let problems = 0
for (; splits < Number(values.splits) && problems < 10; splits += perText) {
  const disagreement = trySplits(random, perText)
  if (disagreement === null) continue
  problems++
  process.stdout.write(`${JSON.stringify(disagreement, null, 2)}\n`)
}
process.stdout.write(
  `${JSON.stringify({ splits, problems, seconds: Math.round((performance.now() - began) / 1000) })}\n`,
)
process.exitCode = problems > 0 ? 1 : 0
