import type { CallOptions, Repository, Sha } from './repository.ts'
export type MergePlan =
  | { kind: 'up-to-date' }
  | { kind: 'fast-forward'; resultSha: Sha }
  | { kind: 'merge-commit'; resultSha: Sha; treeSha: Sha }
  | { kind: 'conflicted'; files: string[] }
  | { kind: 'doubtful'; reason: string }
export async function planMerge(
  _repo: Repository,
  _input: { baseSha: Sha; headSha: Sha; message: string; date: Date },
  _options: CallOptions = {},
): Promise<MergePlan> {
  throw new Error('planMerge is not built yet.')
}
export type LandOutcome =
  | { kind: 'landed' }
  | { kind: 'moved' }
  | { kind: 'rejected'; reason: string }
  | { kind: 'unknown'; reason: string }
/** `baseRef` is the branch's short name. */
export async function landMerge(
  _repo: Repository,
  _input: { baseRef: string; baseSha: Sha; resultSha: Sha },
  _options: CallOptions = {},
): Promise<LandOutcome> {
  throw new Error('landMerge is not built yet.')
}
