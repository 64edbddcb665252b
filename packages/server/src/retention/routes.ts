import { getStorageRoute, type ProjectBytes } from '@svc/contract'
import { storeBytes } from '@svc/git'
import pLimit from 'p-limit'
import { requireInstanceOwner } from '../accounts/change.ts'
import type { Deps } from '../deps.ts'
import { handle, type Mounted } from '../http/mount.ts'
import { storedRepositories } from '../projects/mirrors/stored-repositories.ts'
import { measureFolders } from '../storage/measure-folders.ts'
import { bytesOfProjects, databaseBytes, keptRows } from './kept-store.ts'

const foldersAtOnce = 8

export function storageRoutes(deps: Deps): Mounted[] {
  const { db, disk, config } = deps
  return [
    handle(getStorageRoute, async ({ query, caller }) => {
      await requireInstanceOwner(db, caller.actor.user_id, 'see what uses the disk')
      const [kept, database_bytes, folders, projects] = await Promise.all([
        keptRows(db, config.keepDays),
        databaseBytes(db),
        measureFolders(config),
        largestProjects(deps, query.projects),
      ])
      const { totalBytes: total_bytes, freeBytes: free_bytes, minFreeBytes: min_free_bytes } = disk
      const space = { total_bytes, free_bytes, min_free_bytes }
      return { server: deps.home, disk: space, database_bytes, folders, kept, projects }
    }),
  ]
}

async function largestProjects(deps: Pick<Deps, 'db' | 'config'>, limit: number): Promise<ProjectBytes[]> {
  const stored = await storedBytes(deps)
  const found = (await bytesOfProjects(deps.db)).map(({ project_id, slug, home, deleted, ...bytes }) => {
    const inStore = stored.get(project_id)
    return {
      ...{ project_id, slug, server: home, deleted },
      // Unfinished work is in the same store.
      repository_bytes: inStore === undefined ? null : Math.max(0, inStore - bytes.unfinished),
      ...{ unfinished_work_bytes: bytes.unfinished, transcript_bytes: bytes.transcripts },
      check_log_bytes: bytes.check_logs,
    }
  })
  return found.toSorted((a, b) => sizeOf(b) - sizeOf(a)).slice(0, limit)
}

const sizeOf = (project: ProjectBytes) =>
  (project.repository_bytes ?? 0) + project.unfinished_work_bytes + project.transcript_bytes + project.check_log_bytes

/** The repositories and mirrors on this server, in bytes. */
async function storedBytes(deps: Pick<Deps, 'config'>): Promise<Map<string, number>> {
  const found = await Promise.all([storedRepositories(deps, 'repositories'), storedRepositories(deps, 'mirrors')])
  const sizes = await pLimit(foldersAtOnce).map(found.flat(), async ({ dir, projectId }) =>
    projectId === null ? [] : [[projectId, await storeBytes(dir)] as const],
  )
  return new Map(sizes.flat())
}
