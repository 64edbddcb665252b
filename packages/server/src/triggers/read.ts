/** What the API shows: the triggers of the default branch as it is at this moment. */
import type { ManifestIssue } from '@svc/contract'
import type { Deps } from '../deps.ts'
import { getDefaultBranch, noticeDefaultBranch } from '../projects/default-branch.ts'
import type { ProjectRow } from '../projects/store.ts'
import { listSecrets } from '../secrets/store.ts'
import { reconcileProject } from './reconcile.ts'
import { listTriggers, type TriggerRow } from './store.ts'

type ReadDeps = Pick<Deps, 'config' | 'db' | 'keyring' | 'now' | 'newId' | 'log'>

/** Looks at the branch first, as a merge a second ago is expected to show. A host that is away is no reason to show nothing. */
export async function bringUpToDate(deps: ReadDeps, project: ProjectRow, signal: AbortSignal): Promise<void> {
  try {
    await noticeDefaultBranch(deps, project, signal)
  } catch (error) {
    deps.log.debug({ err: error, project_id: project.project_id }, 'triggers are shown as they were last seen')
  }
  await reconcileProject(deps, project.project_id)
}

export async function triggersOf(
  deps: ReadDeps,
  project: ProjectRow,
  signal: AbortSignal,
): Promise<{ rows: TriggerRow[]; errors: ManifestIssue[] }> {
  await bringUpToDate(deps, project, signal)
  const rows = await listTriggers(deps.db, project.project_id)
  const seen = await getDefaultBranch(deps.db, project.project_id)
  const ofManifest = (seen?.issues ?? []).filter(({ path }) => path === '' || /^triggers(\.|$)/.test(path))
  const set = new Set((await listSecrets(deps.db, project.project_id)).map(({ name }) => name))
  const unset = rows
    .filter(({ definition }) => definition.secret_env !== null && !set.has(definition.secret_env))
    .map(({ slug, definition }) => ({
      path: `triggers.${slug}`,
      message: `takes no deliveries: the secret ${definition.secret_env} is not set`,
      severity: 'error' as const,
      line: null,
      column: null,
    }))
  return { rows, errors: [...ofManifest, ...unset] }
}
