// `npm run torture -- name …` runs test/torture/<name>.ts, which kills servers and races clients for the given time.
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { findBun } from './bun.mjs'
import { main, root, runInForeground } from './console.mjs'
import { ensureInstalled } from './install.mjs'

/** The other files are parts of these. */
const programs = [
  'merges',
  'races',
  'database',
  'sessions',
  'syscalls',
  'hostile',
  'triggers',
  'events',
  'apps',
  'fleet',
  'soak',
  'redaction',
]

await main(async () => {
  const [name = '', ...args] = process.argv.slice(2)
  const known = programs.filter((one) => readdirSync(join(root, 'test/torture')).includes(`${one}.ts`))
  if (!known.includes(name)) throw new Error(`Say which: npm run torture -- ${known.join(' | ')} [--help]`)
  await ensureInstalled()
  return runInForeground(findBun(), [join(root, 'test/torture', `${name}.ts`), ...args])
})
