import type { CallOptions, Repository, Sha } from './repository.ts'
export type CreateBranchOutcome =
  | { kind: 'created' | 'exists' }
  | { kind: 'rejected'; reason: string }
  | { kind: 'unreachable'; reason: string }
export async function createBranch(
  _repo: Repository,
  _input: { branch: string; sha: Sha },
  _options: CallOptions = {},
): Promise<CreateBranchOutcome> {
  throw new Error('createBranch is not built yet.')
}
