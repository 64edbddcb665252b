/** The apps of the current default branch. */
import type { App, ManifestIssue } from '@svc/contract'
import { notFound } from '../auth/allow.ts'
import type { Deps } from '../deps.ts'
import { getDefaultBranch, detectDefaultBranch } from '../projects/default-branch.ts'
import type { ProjectRow } from '../projects/store.ts'
import { withReadableReasons } from './log/agent-access.ts'
import { presentApp } from './present.ts'
import { appMistakes, type ReconcileDeps, reconcileProject } from './apply-manifest.ts'
import { getApp, listApps, newestDeploys } from './store.ts'

type ReadDeps = ReconcileDeps & Pick<Deps, 'log'>

const deploysListed = 5
const deploysShown = 20

/** Reads the branch first, so that a merge shows at once. While the git host is unavailable, the last known apps are shown. */
export async function refreshApps(deps: ReadDeps, project: ProjectRow, signal: AbortSignal): Promise<void> {
  try {
    await detectDefaultBranch(deps, project, signal)
    await reconcileProject(deps, project.project_id, signal)
  } catch (error) {
    deps.log.debug(
      { err: error, project_id: project.project_id },
      'reading the default branch failed; showing the last known apps',
    )
  }
}

export async function appsOf(
  deps: ReadDeps,
  { project, readerSessionId, signal }: { project: ProjectRow; readerSessionId: string | null; signal: AbortSignal },
): Promise<{ apps: App[]; errors: ManifestIssue[] }> {
  await refreshApps(deps, project, signal)
  const rows = await listApps(deps.db, project.project_id)
  const newest = await newestDeploys(deps.db, { projectId: project.project_id, each: deploysListed })
  const shown = { app: { project_id: project.project_id }, deploys: newest }
  const deploys = await withReadableReasons(deps, readerSessionId, shown)
  const seen = await getDefaultBranch(deps.db, project.project_id)
  return {
    apps: rows.map((row) => {
      const own = deploys.filter(({ slug }) => slug === row.slug)
      return presentApp(deps.config, row, own)
    }),
    errors: appMistakes(seen?.issues ?? []),
  }
}

export async function appOf(
  deps: Pick<Deps, 'db' | 'config'>,
  { projectId, slug, readerSessionId }: { projectId: string; slug: string; readerSessionId: string | null },
): Promise<App> {
  const row = await getApp(deps.db, projectId, slug)
  if (row === null) throw notFound('app')
  const deploys = await newestDeploys(deps.db, { projectId, slug: row.slug, each: deploysShown })
  return presentApp(deps.config, row, await withReadableReasons(deps, readerSessionId, { app: row, deploys }))
}
