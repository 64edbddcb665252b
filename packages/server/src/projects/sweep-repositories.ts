import { rm } from 'node:fs/promises'
import { removeOrphanedLocks, sweepScratch } from '@svc/git'
import type { Deps } from '../deps.ts'
import { storedRepositories } from './mirrors/stored-repositories.ts'
import { purgedAmong } from './store.ts'

/** The job. A server or machine that dies during a merge leaves scratch folders and git's lock files, which only this removes. */
export async function sweepRepositories(
  deps: Pick<Deps, 'db' | 'config' | 'log'>,
  signal: AbortSignal,
  few: (dirs: string[], folder: 'repositories' | 'mirrors') => string[] = (dirs) => dirs,
): Promise<void> {
  for (const folder of ['repositories', 'mirrors'] as const) {
    const all = await storedRepositories(deps, folder)
    const chosen = new Set(
      few(
        all.map(({ dir }) => dir),
        folder,
      ),
    )
    const stored = all.filter(({ dir }) => chosen.has(dir))
    const ids = stored.map(({ projectId }) => projectId).filter((id) => id !== null)
    const purged = new Set(await purgedAmong(deps.db, ids))
    for (const { dir, projectId } of stored) {
      if (signal.aborted) return
      // The server died after deleting the row and before deleting the repository.
      if (projectId !== null && purged.has(projectId)) {
        await rm(dir, { recursive: true, force: true })
        deps.log.info({ folder, project_id: projectId }, 'removed the repository of a purged project')
        continue
      }
      await sweepScratch(dir)
      const removed = await removeOrphanedLocks(dir)
      if (removed.length > 0) deps.log.warn({ removed }, 'removed lock files of a dead git process')
    }
  }
}
