/** Deletes projects, which a restore can undo for a while, and purges them for good. */
import { rm } from 'node:fs/promises'
import { deletedDaysKept, ServiceError } from '@svc/contract'
import pLimit from 'p-limit'
import { auditEvent, recordAudit } from '../audit/record.ts'
import type { Caller } from '../auth/actor.ts'
import type { DbOrTransaction } from '../db/schema.ts'
import type { Deps } from '../deps.ts'
import '../failpoint.ts'
import { managedDir, mirrorDir } from '../projects/repository.ts'
import {
  deleteProjectRow,
  getProjectOrDeleted,
  lockProject,
  markDeleted,
  markPurging,
  type ProjectRow,
  projectsToPurge,
} from '../projects/store.ts'
import { deleteSession, stopSession } from './lifecycle/stop.ts'
import { listSessions, unstoppedOfDeleted } from './store.ts'

const dayMs = 86_400_000
const stopsAtOnce = 8
const purgesMax = 20

interface OnProject {
  project: ProjectRow
  caller: Caller
}

export function purgeAtOf(deletedAt: Date): Date {
  return new Date(deletedAt.getTime() + deletedDaysKept * dayMs)
}

/**
 * Marks the project, which makes it unreachable at once, then stops its sessions, which saves their unfinished work. After
 * a crash in between, `endDeletedProjects` finishes.
 */
export async function deleteProject(deps: Deps, { project, caller }: OnProject): Promise<{ purgeAt: Date }> {
  const { project_id: projectId } = project
  const purgeAt = await deps.db.transaction().execute(async (trx) => {
    const marked = await markProject(deps, trx, { project, caller })
    await failpoint('project.delete.before_row')
    const now = marked ?? (await getProjectOrDeleted(trx, projectId))
    return now?.purge_at == null ? purgeAtOf(deps.now()) : new Date(now.purge_at)
  })
  await failpoint('project.delete.after_row')
  await stopAll(deps, { projectId, caller })
  await deps.warm.dropProject(projectId)
  return { purgeAt }
}

async function markProject(deps: Pick<Deps, 'now'>, trx: DbOrTransaction, { project, caller }: OnProject) {
  const { project_id: projectId } = project
  const at = deps.now()
  const marked = await markDeleted(trx, projectId, { at, by: caller.actor.user_id, purgeAt: purgeAtOf(at) })
  if (marked !== null)
    await recordAudit(trx, caller, {
      ...auditEvent(project, 'project.delete', 'project', projectId),
      before: { slug: project.slug, repo_url: project.repo_url, managed: project.managed },
      after: { purge_at: marked.purge_at },
    })
  return marked
}

async function stopAll(deps: Deps, { projectId, caller }: { projectId?: string; caller?: Caller }): Promise<number> {
  const sessions = await unstoppedOfDeleted(deps.db, { projectId: projectId ?? null, home: deps.home })
  await pLimit(stopsAtOnce).map(sessions, ({ deleted_by, ...session }) =>
    stopSession(deps, {
      session,
      caller: caller ?? itself(session.project_id, deleted_by),
      // The project is marked as deleted by now, so its sandboxes have to end.
      discard: true,
    }).catch(ignoreDeleted),
  )
  return sessions.length
}

/** A purge, or someone else, deleted the session meanwhile, which stopped it. */
function ignoreDeleted(error: unknown): void {
  if (!(error instanceof ServiceError) || error.code !== 'not_found') throw error
}

/**
 * Deletes the sandboxes, then the row with everything that refers to it, then the files; after a crash the jobs finish.
 * `dueBy` purges only a project that is still deleted and due by then. False when this call purged nothing.
 */
export async function purgeProject(
  deps: Deps,
  { project, caller, dueBy = null }: OnProject & { dueBy?: Date | null },
): Promise<boolean> {
  const { project_id: projectId } = project
  const marked = await deps.db.transaction().execute(async (trx) => {
    await lockProject(trx, projectId)
    if (dueBy === null) await markProject(deps, trx, { project, caller })
    return markPurging(trx, projectId, { dueBy })
  })
  if (marked === null) return false
  await failpoint('project.purge.after_mark')
  for (;;) {
    const { rows } = await listSessions(deps.db, projectId, { limit: 100, status: 'all' })
    if (rows.length === 0) break
    for (const session of rows) await deleteSession(deps, { session, caller, discard: true })
  }
  await deps.warm.dropProject(projectId)
  await failpoint('project.purge.before_row')
  const isPurged = await deps.db.transaction().execute(async (trx) => {
    if (!(await deleteProjectRow(trx, projectId))) return false
    await recordAudit(trx, caller, {
      ...auditEvent(project, 'project.purge', 'project', projectId),
      before: { slug: marked.deleted_slug, repo_url: project.repo_url, managed: project.managed },
    })
    return true
  })
  await failpoint('project.purge.after_row')
  if (!isPurged) return false
  await rm(managedDir(deps, projectId), { recursive: true, force: true })
  await rm(mirrorDir(deps, projectId), { recursive: true, force: true })
  return true
}

/** A job: stops sessions that an interrupted deletion left running, and purges projects that are due. `again` after either. */
export async function endDeletedProjects(
  deps: Deps,
  signal: AbortSignal,
  { mayPurge = true }: { mayPurge?: boolean } = {},
): Promise<'again' | null> {
  const stopped = await stopAll(deps, {})
  if (!mayPurge) return stopped > 0 ? 'again' : null
  const dueBy = deps.now()
  const due = await projectsToPurge(deps.db, { now: dueBy, home: deps.home, limit: purgesMax })
  for (const project of due) {
    if (signal.aborted) return null
    const { project_id, deleted_by } = project
    try {
      const isPurged = await purgeProject(deps, { project, caller: itself(project_id, deleted_by), dueBy })
      if (isPurged) deps.log.info({ project_id }, 'a deleted project was purged')
    } catch (error) {
      deps.log.warn({ err: error, project_id }, 'purging a deleted project failed; retrying')
    }
  }
  return stopped + due.length > 0 ? 'again' : null
}

function itself(projectId: string, userId: string | null): Caller {
  return {
    actor: { kind: 'service', user_id: userId ?? projectId, project_id: projectId, session_id: null },
    requestId: `deleted project ${projectId}`,
    address: 'service',
  }
}
