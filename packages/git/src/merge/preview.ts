import { mergeInPooledGit } from './pooled-merge.ts'
import { mergeInScratch } from './merge-tree.ts'
import { withMending } from '../mirror/repair.ts'
import { observeWork } from '../process/observe.ts'
import { mergeBase } from '../refs/refs.ts'
import { requireSha, type CallOptions, type Repository, type Sha } from '../repository.ts'
import { SharedAnswers } from '../objects/shared-results.ts'

export interface MergePreview {
  base_sha: Sha
  head_sha: Sha
  merge_base: Sha | null
  is_up_to_date: boolean
  can_merge: boolean
  can_fast_forward: boolean
  conflicts: string[]
}

const previews = new SharedAnswers<MergePreview>(
  32 * 1024 * 1024,
  (preview) => 400 + 2 * preview.conflicts.join('').length,
)

/** The result of merging head into base. Depends only on the two commits, so it is computed once. */
export function previewMerge(
  repo: Repository,
  pair: { baseSha: Sha; headSha: Sha },
  options: CallOptions = {},
): Promise<MergePreview> {
  const key = `${repo.dir}\0${requireSha(pair.baseSha)}${requireSha(pair.headSha)}`
  const compute = () => withMending(repo, () => workOutPreview(repo, pair))
  return previews.get(key, options, () => observeWork('preview merge', compute))
}

async function workOutPreview(
  repo: Repository,
  { baseSha, headSha }: { baseSha: Sha; headSha: Sha },
): Promise<MergePreview> {
  // The merge asks for the ancestors while it runs, so they are known afterwards. The other order waits for one git
  // after the other, which made a cold preview take 1.6 times a merge-tree instead of once.
  const conflicts = await findConflicts(repo, baseSha, headSha)
  const ancestor = await mergeBase(repo, baseSha, headSha)
  const isUpToDate = ancestor === headSha
  const canFastForward = !isUpToDate && ancestor === baseSha
  return {
    base_sha: baseSha,
    head_sha: headSha,
    merge_base: ancestor,
    is_up_to_date: isUpToDate,
    can_merge: conflicts.length === 0,
    can_fast_forward: canFastForward,
    conflicts,
  }
}

/** merge-tree writes the objects of its result; a preview's go into a temporary folder. */
async function findConflicts(repo: Repository, baseSha: Sha, headSha: Sha): Promise<string[]> {
  const result =
    (await mergeInPooledGit(repo, { baseSha, headSha }, null)) ?? (await mergeInScratch(repo, { baseSha, headSha }))
  return result.kind === 'conflicted' ? result.files : []
}
