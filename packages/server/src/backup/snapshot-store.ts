/** Reads of the database as of one snapshot. */
import { sql } from 'kysely'
import { listRows } from '../db/rows.ts'
import type { DbOrTransaction } from '../db/schema.ts'
import { lastValues } from '../projects/replicas/store.ts'
import { newestWork } from '../sessions/unfinished-work/store.ts'
import { rootsOf } from '../storage/root-queries.ts'

export interface SnapshotProject {
  project_id: string
  slug: string
  managed: boolean
  home: string | null
  /** The other server that keeps its copy. */
  copy_at: string | null
  /** Commits that rows refer to. */
  roots: string[]
  /** What the database acknowledged of refs. Null: the ref was deleted. */
  acknowledged: { ref: string; sha: string | null }[]
}

/** Every project, those included that were deleted and can be restored. */
export async function projectsIn(snapshot: DbOrTransaction): Promise<SnapshotProject[]> {
  const work = await savedWork(snapshot)
  const copies = await listRows(snapshot, 'project_replicas', {})
  const copyAt = new Map(copies.map(({ project_id, server }) => [project_id, server]))
  const projects: SnapshotProject[] = []
  const rows = await listRows(snapshot, 'projects', {}, 'project_id')
  for (const { project_id, slug, deleted_slug, managed, home } of rows) {
    const receipts = await lastValues(snapshot, project_id)
    projects.push({
      ...{ project_id, slug: deleted_slug ?? slug, managed, home, copy_at: copyAt.get(project_id) ?? null },
      roots: await rootsOf(snapshot, project_id),
      acknowledged: [...receipts.map(({ ref, new_sha }) => ({ ref, sha: new_sha })), ...(work.get(project_id) ?? [])],
    })
  }
  return projects
}

/** The ref of each session's unfinished work. */
async function savedWork(db: DbOrTransaction): Promise<Map<string, { ref: string; sha: string }[]>> {
  return Map.groupBy(
    (await newestWork(db, null)).map(({ project_id, session_id, commit_sha }) => ({
      project_id,
      ref: `refs/svc/wip/${session_id}`,
      sha: commit_sha,
    })),
    ({ project_id }) => project_id,
  )
}

/** A project that was purged since has no repository any more. */
export async function isPurged(db: DbOrTransaction, projectId: string): Promise<boolean> {
  return (await listRows(db, 'projects', { project_id: projectId })).length === 0
}

/** A project whose repository is made right now may not have one yet. */
export async function isBeingMade(db: DbOrTransaction, projectId: string): Promise<boolean> {
  const created_at = sql`> now() - interval '2 minutes'`
  return (await listRows(db, 'projects', { project_id: projectId, created_at })).length > 0
}
