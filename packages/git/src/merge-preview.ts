import type { CallOptions, Repository, Sha } from './repository.ts'
export interface MergePreview {
  base_sha: Sha
  head_sha: Sha
  merge_base: Sha | null
  is_up_to_date: boolean
  can_merge: boolean
  can_fast_forward: boolean
  conflicts: string[]
}
export async function previewMerge(
  _repo: Repository,
  _pair: { baseSha: Sha; headSha: Sha },
  _options: CallOptions = {},
): Promise<MergePreview> {
  throw new Error('previewMerge is not built yet.')
}
