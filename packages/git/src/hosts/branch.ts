import { requireBranchName } from '../refs/branch-name.ts'
import { createBranchByApi } from './github.ts'
import { pushRefs } from './push.ts'
import { fetchObjects } from '../mirror/repair.ts'
import { busyReason, moveRefs } from '../refs/refs.ts'
import { readTips } from '../refs/tips.ts'
import {
  requireSha,
  zeroSha,
  type CallOptions,
  type GitHubApi,
  type Remote,
  type Repository,
  type Sha,
} from '../repository.ts'

export type CreateBranchOutcome =
  /** `apiRemark`: why the host's API did not create the branch, so that a push did. */
  | { kind: 'created' | 'exists'; apiRemark?: string }
  | { kind: 'rejected'; reason: string }
  | { kind: 'unreachable'; reason: string }

/** Creates a branch at a commit. An existing branch of that name is left unchanged. */
export async function createBranch(
  repo: Repository,
  input: { branch: string; sha: Sha },
  options: CallOptions = {},
): Promise<CreateBranchOutcome> {
  requireBranchName(input.branch)
  requireSha(input.sha)
  const { dir, remote } = repo
  if (!remote) return createOnDisk(repo, input)
  const { github } = remote
  return github
    ? createOnGitHub({ dir, remote: { ...remote, github } }, input, options)
    : createBranchByPush({ dir, remote }, input, options)
}

async function createOnDisk(repo: Repository, input: { branch: string; sha: Sha }): Promise<CreateBranchOutcome> {
  const ref = `refs/heads/${input.branch}`
  const outcome = await moveRefs(repo, [{ ref, oldSha: zeroSha(input.sha), newSha: input.sha }])
  if (outcome.kind === 'busy') return { kind: 'unreachable', reason: busyReason }
  if (outcome.kind === 'full') throw outcome.error
  if (outcome.kind === 'refused') return { kind: 'rejected', reason: outcome.reason }
  return { kind: outcome.kind === 'moved' ? 'created' : 'exists' }
}

/**
 * The push after an undecided API request is safe in any case: its lease requires that the branch does not exist, and
 * the host applies the same credential and rules.
 */
async function createOnGitHub(
  repo: { dir: string; remote: Remote & { github: GitHubApi } },
  input: { branch: string; sha: Sha },
  options: CallOptions,
): Promise<CreateBranchOutcome> {
  const byApi = await createBranchByApi(repo.remote, input, options)
  if (byApi.kind !== 'undecided') return byApi
  const byPush = await createBranchByPush(repo, input, options)
  if (byPush.kind === 'rejected' || byPush.kind === 'unreachable')
    return { ...byPush, reason: `${byPush.reason} Its API did not create the branch: ${byApi.reason}.` }
  return { ...byPush, apiRemark: byApi.reason }
}

/** For any git host: pushes the commit to a name that must not exist yet. */
export async function createBranchByPush(
  repo: Repository & { remote: Remote },
  input: { branch: string; sha: Sha },
  options: CallOptions,
): Promise<CreateBranchOutcome> {
  const { branch, sha } = input
  const fetched = await fetchObjects(repo, [sha], options)
  if (fetched.kind === 'unreachable') return fetched
  if (fetched.kind === 'missing') return { kind: 'rejected', reason: `The git host has no commit ${sha}.` }
  const update = { ref: `refs/heads/${branch}`, oldSha: zeroSha(sha), newSha: requireSha(sha) }
  const pushed = await pushRefs(repo.dir, repo.remote, [update], options)
  if (pushed.kind === 'not-sent') return { kind: pushed.denied ? 'rejected' : 'unreachable', reason: pushed.reason }
  const answer = pushed.kind === 'answered' ? pushed.refs.get(update.ref) : undefined
  if (answer?.kind === 'done') return { kind: answer.unchanged ? 'exists' : 'created' }
  if (answer?.kind === 'rejected') return answer
  if (answer?.kind === 'failed') return { kind: 'unreachable', reason: answer.reason }
  // A stale lease, or no answer: only the host's refs show whether the branch exists.
  const now = await readTips(repo, [branch], options)
  if (now.kind === 'unreachable') return now
  if (now.tips.has(branch))
    return { kind: pushed.kind === 'unknown' && now.tips.get(branch) === update.newSha ? 'created' : 'exists' }
  if (pushed.kind === 'unknown') return { kind: 'unreachable', reason: pushed.reason }
  return { kind: 'rejected', reason: `The git host cannot create ${branch} next to its other branches.` }
}
