// `npm run dev`: the server from source, started again whenever a source changes.
import { join } from 'node:path'
import { findBun } from './bun.mjs'
import { main, root, runInForeground } from './console.mjs'
import { ensureInstalled } from './install.mjs'
import { ensureMachine } from './machine.mjs'

await main(async () => {
  await ensureInstalled()
  await ensureMachine()
  const source = join(root, 'packages/svc/src/main.ts')
  return await runInForeground(findBun(), ['--watch', '--no-clear-screen', source, 'server', ...process.argv.slice(2)])
})
