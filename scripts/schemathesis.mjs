// `npm run test:schemathesis [-- --max-examples 50 …]` sends requests generated from the OpenAPI document to a real server.
import { join } from 'node:path'
import { findBun } from './bun.mjs'
import { findProgram, main, root, runInForeground } from './console.mjs'
import { ensureInstalled } from './install.mjs'

await main(async () => {
  const program = findProgram('schemathesis')
  if (program === null)
    throw new Error('schemathesis is not on PATH. Install it with: pipx install schemathesis==4.32.5')
  await ensureInstalled()
  return runInForeground(findBun(), [join(root, 'test/schemathesis/run.ts'), program, ...process.argv.slice(2)])
})
