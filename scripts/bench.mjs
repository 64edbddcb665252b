// `npm run bench [-- name …]` runs bench/<name>.ts for each name, or every benchmark without a name.
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { findBun } from './bun.mjs'
import { ensureBuilt } from './build.mjs'
import { main, root, runInForeground } from './console.mjs'
import { ensureInstalled } from './install.mjs'
import { ensureMachine } from './machine.mjs'

await main(async () => {
  const known = readdirSync(join(root, 'bench'))
    .filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts'))
    .map((file) => file.slice(0, -3))
  const names = process.argv.length > 2 ? process.argv.slice(2) : known
  const unknown = names.find((name) => !known.includes(name))
  if (unknown !== undefined)
    throw new Error(`There is no bench/${unknown}.ts. There are: ${known.join(', ') || 'none'}.`)
  await ensureInstalled()
  await ensureBuilt()
  await ensureMachine()
  let worst = 0
  for (const name of names) {
    console.log(`\n== ${name}`)
    worst = Math.max(worst, await runInForeground(findBun(), [join(root, 'bench', `${name}.ts`)]))
  }
  return worst
})
