import { fetchObjects } from '../mirror/repair.ts'
import { pushRefs } from './push.ts'
import { requireSha, zeroSha, type CallOptions, type Remote, type Repository, type Sha } from '../repository.ts'
import { readTips } from '../refs/tips.ts'
import type { CreateBranchOutcome } from './branch.ts'

/** For any git host: pushes the commit to a name that must not exist yet. */
export async function createBranchByPush(
  repo: Repository & { remote: Remote },
  input: { branch: string; sha: Sha },
  options: CallOptions,
): Promise<CreateBranchOutcome> {
  const { branch, sha } = input
  const brought = await fetchObjects(repo, [sha], options)
  if (brought.kind === 'unreachable') return brought
  if (brought.kind === 'missing') return { kind: 'rejected', reason: `The git host has no commit ${sha}.` }
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
  return { kind: 'rejected', reason: `The git host does not let ${branch} be created beside its other branches.` }
}
