/** Notices where the default branch of a project is. What follows from a move is for the jobs that read this. */
import { emptyManifest, type Manifest } from '@svc/contract'
import { readTips } from '@svc/git'
import { sql } from 'kysely'
import type { Row } from '../db/schema.ts'
import type { Deps } from '../deps.ts'
import { recordEvent } from '../events/record.ts'
import { readManifestFileAt } from './manifest.ts'
import { openRepository, unreachable } from './repository.ts'
import { getProject, type ProjectRow } from './store.ts'

export type DefaultBranchRow = Row<'default_branches'>
type NoticeDeps = Pick<Deps, 'config' | 'db' | 'keyring' | 'log' | 'now'>

/** A managed repository is read from disk; one elsewhere costs a request to its host. A merge of ours is looked at at once either way. */
const everySeconds = { managed: 3, external: 30 }
const projectsAtOnce = 200

/** Reads the tip now and writes down what is there. Throws when the repository cannot be reached. */
export async function noticeDefaultBranch(
  deps: NoticeDeps,
  project: ProjectRow,
  signal?: AbortSignal,
): Promise<DefaultBranchRow> {
  const { rows: began } = await sql<{ at: string }>`select clock_timestamp()::text as at`.execute(deps.db)
  const repository = await openRepository(deps, project)
  const options = signal === undefined ? {} : { signal }
  const tips = await readTips(repository, [project.default_branch], options)
  if (tips.kind === 'unreachable') throw unreachable(tips.reason)
  const sha = tips.tips.get(project.default_branch) ?? null
  const seen = { branch: project.default_branch, sha }
  const known = await getDefaultBranch(deps.db, project.project_id)
  const hasMoved = known === null || known.sha !== sha || known.branch !== seen.branch
  const file =
    hasMoved && sha !== null
      ? await readManifestFileAt(repository, sha, options)
      : { manifest: emptyManifest, issues: [] }
  const moved = {
    manifest: JSON.stringify(file.manifest),
    issues: JSON.stringify(file.issues),
    moved_at: deps.now(),
  }
  await deps.db.transaction().execute(async (trx) => {
    // Locked: of several servers that saw the move one tells of it.
    const before = await trx
      .selectFrom('default_branches')
      .select(['branch', 'sha'])
      .where('project_id', '=', project.project_id)
      .forUpdate()
      .executeTakeFirst()
    const written = await trx
      .insertInto('default_branches')
      .values({ project_id: project.project_id, ...seen, ...moved, checked_at: began[0]!.at })
      .onConflict((conflict) =>
        conflict
          .column('project_id')
          .doUpdateSet({ checked_at: began[0]!.at, ...(hasMoved ? { ...seen, ...moved } : {}) })
          .where('default_branches.checked_at', '<=', began[0]!.at),
      )
      .executeTakeFirst()
    const isNews = hasMoved && before !== undefined && (before.sha !== sha || before.branch !== seen.branch)
    if (isNews && (written.numInsertedOrUpdatedRows ?? 0n) > 0n)
      await recordEvent(trx, {
        project_id: project.project_id,
        type: 'default_branch.moved',
        data: { branch: seen.branch, before: before.branch === seen.branch ? before.sha : null, sha },
      })
  })
  if (hasMoved && sha !== null && file.manifest.runtime.config_dir !== project.config_dir)
    await deps.db
      .updateTable('projects')
      .set({ config_dir: file.manifest.runtime.config_dir })
      .where('project_id', '=', project.project_id)
      .execute()
  return (await getDefaultBranch(deps.db, project.project_id)) ?? Promise.reject(unreachable('it was deleted'))
}

export async function getDefaultBranch(db: Deps['db'], projectId: string): Promise<DefaultBranchRow | null> {
  return (
    (await db.selectFrom('default_branches').selectAll().where('project_id', '=', projectId).executeTakeFirst()) ?? null
  )
}

/** The manifest that is in force: as the branch is now, or as it was last seen while its host is away. */
export async function currentManifest(deps: NoticeDeps, project: ProjectRow, signal?: AbortSignal): Promise<Manifest> {
  try {
    return (await noticeDefaultBranch(deps, project, signal)).manifest
  } catch (error) {
    deps.log.debug({ err: error, project_id: project.project_id }, 'the manifest is taken as it was last seen')
    return (await getDefaultBranch(deps.db, project.project_id))?.manifest ?? emptyManifest
  }
}

/** The job: first the projects with a merge since the last look, then those looked at longest ago. A host that is away stops nobody else's turn. */
export async function noticeDefaultBranches(deps: NoticeDeps, signal: AbortSignal): Promise<void> {
  const due = await projectsToLookAt(deps.db)
  await Promise.all(
    Array.from({ length: 4 }, async () => {
      for (let next = due.shift(); next !== undefined && !signal.aborted; next = due.shift()) {
        const project = await getProject(deps.db, next)
        if (project === null) continue
        try {
          await noticeDefaultBranch(deps, project, signal)
        } catch (error) {
          deps.log.debug({ err: error, project_id: next }, 'the default branch was not seen; it is looked at again')
          await putOff(deps.db, project)
        }
      }
    }),
  )
}

async function projectsToLookAt(db: Deps['db']): Promise<string[]> {
  const { rows } = await sql<{ project_id: string }>`
    select p.project_id from projects p left join default_branches d on d.project_id = p.project_id
    cross join lateral (select exists (
      select 1 from change_requests c
      where c.project_id = p.project_id and c.status = 'merged' and c.merged_at > d.checked_at) as yes) merge
    where d.checked_at is null or merge.yes or d.branch <> p.default_branch
      or d.checked_at < now() - make_interval(secs => (case when p.managed then ${everySeconds.managed}::integer else ${everySeconds.external}::integer end)::double precision)
    order by merge.yes desc, d.checked_at nulls first limit ${projectsAtOnce}`.execute(db)
  return rows.map((row) => row.project_id)
}

/** Behind the others, so that two hundred dead hosts are no wall in front of the living. */
async function putOff(db: Deps['db'], project: ProjectRow): Promise<void> {
  const nothing = { branch: project.default_branch, sha: null, manifest: JSON.stringify(emptyManifest), issues: '[]' }
  await db
    .insertInto('default_branches')
    .values({
      project_id: project.project_id,
      ...nothing,
      moved_at: sql<string>`now()`,
      checked_at: sql<string>`clock_timestamp()`,
    })
    .onConflict((conflict) => conflict.column('project_id').doUpdateSet({ checked_at: sql`clock_timestamp()` }))
    .execute()
}
