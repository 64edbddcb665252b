import type { Repository } from '@svc/git'
import type { Deps } from '../deps.ts'
import { pushQuota, requireFit } from '../projects/quotas.ts'
import type { ProjectRow } from '../projects/store.ts'
import { unfinishedBytesOf } from '../sessions/unfinished-work/snapshot-store.ts'

/** Refuses a commit of the service where a push of the same commit would be refused. */
export async function requireRoom(
  deps: Pick<Deps, 'config' | 'db' | 'disk'>,
  { project, repository, bytes }: { project: ProjectRow; repository: Repository; bytes: number },
): Promise<void> {
  const quota = pushQuota(deps, project, await unfinishedBytesOf(deps.db, project.project_id))
  await requireFit(deps, { project, repository, quota, bytes })
}
