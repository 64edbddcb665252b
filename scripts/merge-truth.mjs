// `npm run test:merge-truth -- PATH [--limit N] [--jobs N]`: every merge in the history of a repository is made again, by us
// and by `git merge` in a clean work tree, and the two answers compared. The repository is only read.
import { join } from 'node:path'
import { findBun } from './bun.mjs'
import { main, root, runInForeground } from './console.mjs'
import { ensureInstalled } from './install.mjs'

await main(async () => {
  await ensureInstalled()
  return runInForeground(findBun(), [join(root, 'test/git-suite/merge-truth.ts'), ...process.argv.slice(2)])
})
