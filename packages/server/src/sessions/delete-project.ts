import { rm } from 'node:fs/promises'
import { recordAudit } from '../audit/record.ts'
import type { Caller } from '../auth/actor.ts'
import type { Deps } from '../deps.ts'
import '../failpoint.ts'
import { managedDir, mirrorDir } from '../projects/repository.ts'
import { deleteProjectRow, type ProjectRow } from '../projects/store.ts'
import { deleteSession } from './stop.ts'
import { listSessions } from './store.ts'

/** Sandboxes, then the row with all that hangs on it, then the files: whatever is left when we die in between, a second try ends. */
export async function deleteProject(deps: Deps, input: { project: ProjectRow; caller: Caller }): Promise<void> {
  const { project, caller } = input
  for (;;) {
    const { rows } = await listSessions(deps.db, project.project_id, { limit: 100, status: 'all' })
    if (rows.length === 0) break
    for (const session of rows) await deleteSession(deps, { session, caller })
  }
  await deps.warm.dropProject(project.project_id)
  await failpoint('project.delete.before_row')
  await deps.db.transaction().execute(async (trx) => {
    await deleteProjectRow(trx, project.project_id)
    await recordAudit(trx, caller, {
      account_id: project.account_id,
      project_id: project.project_id,
      action: 'project.delete',
      object_type: 'project',
      object_id: project.project_id,
      before: { slug: project.slug, repo_url: project.repo_url, managed: project.managed },
    })
  })
  await failpoint('project.delete.after_row')
  await rm(managedDir(deps, project.project_id), { recursive: true, force: true })
  await rm(mirrorDir(deps, project.project_id), { recursive: true, force: true })
}
