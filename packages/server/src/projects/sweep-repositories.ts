import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { removeOrphanedLocks, sweepScratch } from '@svc/git'
import type { Deps } from '../deps.ts'
import { deletedAmong } from './store.ts'

/** A job: a server or machine that went down in the middle of a merge leaves its scratch folders and git's lock files, which nobody else would ever remove. */
export async function sweepRepositories(deps: Pick<Deps, 'db' | 'config' | 'log'>, signal: AbortSignal): Promise<void> {
  for (const folder of ['repositories', 'mirrors']) {
    const dir = join(deps.config.dataDir, folder)
    const names = await readdir(dir).catch(whenAbsent)
    const gone = new Set(await deletedAmong(deps.db, names.flatMap(projectOf)))
    for (const name of names) {
      if (signal.aborted) return
      // Its row went first, and then the server did.
      if (projectOf(name).some((id) => gone.has(id))) {
        await rm(join(dir, name), { recursive: true, force: true })
        deps.log.info({ folder, name }, 'the repository of a deleted project was removed')
        continue
      }
      await sweepScratch(join(dir, name))
      const removed = await removeOrphanedLocks(join(dir, name))
      if (removed.length > 0) deps.log.warn({ removed }, 'lock files of a git that is gone were removed')
    }
  }
}

function projectOf(name: string): string[] {
  const id = /^([0-9a-f-]{36})\.git$/.exec(name)?.[1]
  return id === undefined ? [] : [id]
}

/** Before the first project there is no folder. */
function whenAbsent(error: NodeJS.ErrnoException): string[] {
  if (error.code === 'ENOENT') return []
  throw error
}
