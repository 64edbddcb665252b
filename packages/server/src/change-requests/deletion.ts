/** Counts what deleting a project stops and what purging it removes. */
import type { ProjectDeletion } from '@svc/contract'
import { storeBytes } from '@svc/git'
import type { Deps } from '../deps.ts'
import type { ProjectRow } from '../projects/store.ts'
import { purgeAtOf } from '../sessions/delete-project.ts'
import { countSessionsOf } from '../sessions/store.ts'
import { listWip, storeOf } from '../sessions/unfinished-work/wip.ts'
import { countChangeRequestsOf } from './store.ts'

export async function deletionOf(
  deps: Pick<Deps, 'db' | 'config' | 'keyring' | 'log' | 'now'>,
  project: ProjectRow,
): Promise<ProjectDeletion> {
  const { project_id: projectId, deleted_at, purge_at } = project
  const [sessions, work, changeRequests, bytes] = await Promise.all([
    countSessionsOf(deps.db, projectId),
    listWip(deps, project),
    countChangeRequestsOf(deps.db, projectId),
    storeBytes(storeOf(deps, project).dir),
  ])
  return {
    sessions: sessions.all,
    live_sessions: sessions.live,
    unpushed_sessions: work.filter((row) => row.files > 0 || row.unpushed_commits > 0).length,
    change_requests: changeRequests.all,
    open_change_requests: changeRequests.open,
    repository_bytes: bytes,
    deleted_at,
    purge_at: purge_at ?? purgeAtOf(deps.now()).toISOString(),
  }
}
