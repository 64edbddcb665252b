import { requireBranchName } from './branch-name.ts'
import { bringObjects } from './mirror.ts'
import { pushRefs } from './push.ts'
import { moveRefs } from './refs.ts'
import { requireSha, zeroSha, type CallOptions, type Repository, type Sha } from './repository.ts'
import { readTips } from './tips.ts'

export type CreateBranchOutcome =
  | { kind: 'created' | 'exists' }
  | { kind: 'rejected'; reason: string }
  | { kind: 'unreachable'; reason: string }

/** Cuts a new branch at a commit. A branch of that name is left alone, wherever it points. */
export async function createBranch(
  repo: Repository,
  input: { branch: string; sha: Sha },
  options: CallOptions = {},
): Promise<CreateBranchOutcome> {
  const ref = `refs/heads/${requireBranchName(input.branch)}`
  const update = { ref, oldSha: zeroSha(input.sha), newSha: requireSha(input.sha) }
  if (!repo.remote) {
    const outcome = await moveRefs(repo, [update])
    if (outcome.kind === 'refused') return { kind: 'rejected', reason: outcome.reason }
    return { kind: outcome.kind === 'moved' ? 'created' : 'exists' }
  }
  const brought = await bringObjects(repo, [input.sha], options)
  if (brought.kind === 'unreachable') return brought
  if (brought.kind === 'missing') return { kind: 'rejected', reason: `The git host has no commit ${input.sha}.` }
  return pushBranch(repo, input.branch, update, options)
}

async function pushBranch(
  repo: Repository,
  branch: string,
  update: { ref: string; oldSha: Sha; newSha: Sha },
  options: CallOptions,
): Promise<CreateBranchOutcome> {
  const pushed = await pushRefs(repo.dir, repo.remote as NonNullable<Repository['remote']>, [update], options)
  if (pushed.kind === 'not-sent') return { kind: pushed.denied ? 'rejected' : 'unreachable', reason: pushed.reason }
  const answer = pushed.kind === 'answered' ? pushed.refs.get(update.ref) : undefined
  if (answer?.kind === 'done') return { kind: answer.unchanged ? 'exists' : 'created' }
  if (answer?.kind === 'rejected') return answer
  // A stale lease, or no answer: only the host's refs tell whether the branch is there.
  const now = await readTips(repo, [branch], options)
  if (now.kind === 'unreachable') return now
  if (now.tips.has(branch))
    return { kind: pushed.kind === 'unknown' && now.tips.get(branch) === update.newSha ? 'created' : 'exists' }
  const reason =
    pushed.kind === 'unknown'
      ? pushed.reason
      : `The git host does not let ${branch} be created beside its other branches.`
  return pushed.kind === 'unknown' ? { kind: 'unreachable', reason } : { kind: 'rejected', reason }
}
