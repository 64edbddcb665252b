import { type MergePreview, previewMerge } from '@svc/git'
import type { ProjectRow } from '../projects/store.ts'
import { commitPair, type PairDeps } from './commit-pair.ts'
import { requireChangeRequest } from './store.ts'
import { withinLimits } from './within-limits.ts'

/** Of a merged one: how it stood right before it was merged. */
export async function previewChangeRequest(
  deps: PairDeps,
  input: { project: ProjectRow; crId: string; signal: AbortSignal },
): Promise<MergePreview> {
  const { project, signal } = input
  const cr = await requireChangeRequest(deps.db, project.project_id, input.crId)
  const { repository, baseSha, headSha } = await commitPair(deps, { project, cr, signal })
  return withinLimits(previewMerge(repository, { baseSha, headSha }, { signal }))
}
