import { ServiceError } from '@svc/contract'
import { auditEvent, recordAudit } from '../audit/record.ts'
import type { Caller, UserActor } from '../auth/actor.ts'
import type { Deps } from '../deps.ts'
import '../failpoint.ts'
import { getProjectOrDeleted, isPurging, isSlugTaken, markRestored, type ProjectRow } from './store.ts'

/** Takes its former slug, or the next free one. One statement suffices: the project's data was kept. */
export async function restoreProject(
  deps: Pick<Deps, 'db' | 'now'>,
  input: { project: ProjectRow; caller: Caller<UserActor> },
): Promise<ProjectRow> {
  const { project, caller } = input
  const { project_id: projectId, deleted_slug: before } = project
  if (before === null) throw notDeleted()
  for (let attempt = 1; attempt <= 100; attempt++) {
    const slug = attempt === 1 ? before : `${before}-${attempt}`
    const restoring = deps.db.transaction().execute(async (trx) => {
      const row = await markRestored(trx, projectId, { slug, at: deps.now() })
      if (row !== null)
        await recordAudit(trx, caller, {
          ...auditEvent(row, 'project.restore', 'project', projectId),
          before: { slug: before, deleted_at: project.deleted_at },
          after: { slug },
        })
      await failpoint('project.restore.before_row')
      return row
    })
    const restored = await restoring.catch(whenSlugTaken)
    await failpoint('project.restore.after_row')
    if (restored !== null) return restored
    const now = await getProjectOrDeleted(deps.db, projectId)
    if (now === null || isPurging(now, deps.now()))
      throw new ServiceError('not_found', 'This project was purged, so it cannot be restored.')
    if (now.deleted_at === null) throw notDeleted()
  }
  throw new ServiceError('conflict', `A hundred projects have a slug like ${JSON.stringify(before)}.`, {
    hint: 'Delete one of them, then restore this one.',
  })
}

/** Another project took the slug while it was free. */
function whenSlugTaken(error: unknown): null {
  if (isSlugTaken(error)) return null
  throw error
}

function notDeleted(): ServiceError {
  return new ServiceError('conflict', 'This project is not deleted.')
}
