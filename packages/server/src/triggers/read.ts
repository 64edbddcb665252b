/** The triggers of the current default branch. */
import type { ManifestIssue } from '@svc/contract'
import type { Deps } from '../deps.ts'
import { currentManifest, getDefaultBranch } from '../projects/default-branch.ts'
import type { ProjectRow } from '../projects/store.ts'
import { listSecrets } from '../secrets/store.ts'
import { reconcileProject } from './reconcile.ts'
import { listTriggers, type TriggerRow } from './store.ts'

type ReadDeps = Pick<Deps, 'config' | 'db' | 'keyring' | 'now' | 'newId' | 'log'>

/** Reads the branch first, so that a merge shows at once. While the git host is unavailable, the last known triggers are shown. */
export async function refreshTriggers(deps: ReadDeps, project: ProjectRow, signal: AbortSignal): Promise<void> {
  await currentManifest(deps, project, signal)
  await reconcileProject(deps, project.project_id)
}

export async function triggersOf(
  deps: ReadDeps,
  project: ProjectRow,
  signal: AbortSignal,
): Promise<{ rows: TriggerRow[]; errors: ManifestIssue[] }> {
  await refreshTriggers(deps, project, signal)
  const rows = await listTriggers(deps.db, project.project_id)
  const seen = await getDefaultBranch(deps.db, project.project_id)
  const ofManifest = (seen?.issues ?? []).filter(({ path }) => path === '' || /^triggers(\.|$)/.test(path))
  const set = new Set((await listSecrets(deps.db, project.project_id)).map(({ name }) => name))
  const unset = rows
    .filter(({ definition }) => definition.secret_env !== null && !set.has(definition.secret_env))
    .map(({ slug, definition }) => ({
      path: `triggers.${slug}`,
      message: `accepts no deliveries: the secret ${definition.secret_env} is not set`,
      severity: 'error' as const,
      line: null,
      column: null,
    }))
  return { rows, errors: [...ofManifest, ...unset] }
}
