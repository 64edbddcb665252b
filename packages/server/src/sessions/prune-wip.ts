import { pruneReplacedWork } from '@svc/git'
import { sql } from 'kysely'
import { withLock } from '../db/lock.ts'
import type { Deps } from '../deps.ts'
import { getProject } from '../projects/store.ts'
import { storeOf } from './wip.ts'

/** Longer than anybody takes to fetch a bundle, and than any git that was about to write one of its objects anew. */
const restMs = 86_400_000
const projectsMax = 1_000

/** A job: removes the snapshots of unfinished work that were replaced a day ago and more. The newest of a session always stays, and so does what was kept of its earlier starts. */
export async function pruneWip(
  deps: Pick<Deps, 'db' | 'locks' | 'localLocks' | 'config' | 'now' | 'log'>,
  signal: AbortSignal,
): Promise<void> {
  const before = new Date(deps.now().getTime() - restMs)
  for (const projectId of await projectsWithWork(deps)) {
    if (signal.aborted) return
    const project = await getProject(deps.db, projectId)
    if (project === null) continue
    try {
      const removed = await withLock(deps, `prune ${projectId}`, () =>
        pruneReplacedWork(storeOf(deps, project), before, signal),
      )
      if (removed > 0) deps.log.info({ project_id: projectId, removed }, 'replaced snapshots were removed')
    } catch (error) {
      // Nothing depends on it, and the next pass tries again.
      deps.log.warn({ err: error, project_id: projectId }, 'replaced snapshots could not be removed')
    }
  }
}

async function projectsWithWork(deps: Pick<Deps, 'db'>): Promise<string[]> {
  const rows = await deps.db
    .selectFrom('project_sessions')
    .select('project_id')
    .distinct()
    .orderBy(sql`project_id`)
    .limit(projectsMax)
    .execute()
  return rows.map((row) => row.project_id)
}
