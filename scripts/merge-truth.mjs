// `npm run test:merge-truth -- PATH [--limit N] [--jobs N]` repeats every merge in a repository's history, once with our engine
// and once with `git merge` in a clean work tree, and compares the results. It only reads the repository.
import { join } from 'node:path'
import { findBun } from './bun.mjs'
import { main, root, runInForeground } from './console.mjs'
import { ensureInstalled } from './install.mjs'

await main(async () => {
  await ensureInstalled()
  return runInForeground(findBun(), [join(root, 'test/git-suite/merge-truth.ts'), ...process.argv.slice(2)])
})
