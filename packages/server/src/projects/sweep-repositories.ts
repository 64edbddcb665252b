import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { removeOrphanedLocks, sweepScratch } from '@svc/git'
import type { Deps } from '../deps.ts'

/** A job: a server or machine that went down in the middle of a merge leaves its scratch folders and git's lock files, which nobody else would ever remove. */
export async function sweepRepositories(deps: Pick<Deps, 'config' | 'log'>, signal: AbortSignal): Promise<void> {
  for (const folder of ['repositories', 'mirrors']) {
    const dir = join(deps.config.dataDir, folder)
    for (const name of await readdir(dir).catch(whenAbsent)) {
      if (signal.aborted) return
      await sweepScratch(join(dir, name))
      const removed = await removeOrphanedLocks(join(dir, name))
      if (removed.length > 0) deps.log.warn({ removed }, 'lock files of a git that is gone were removed')
    }
  }
}

/** Before the first project there is no folder. */
function whenAbsent(error: NodeJS.ErrnoException): string[] {
  if (error.code === 'ENOENT') return []
  throw error
}
