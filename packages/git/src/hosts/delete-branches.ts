import { requireBranchName } from '../refs/branch-name.ts'
import { busyReason, moveRefs } from '../refs/refs.ts'
import { readTips } from '../refs/tips.ts'
import {
  requireSha,
  zeroSha,
  type CallOptions,
  type RefUpdate,
  type Remote,
  type Repository,
  type Sha,
} from '../repository.ts'
import { pushRefs } from './push.ts'

export type DeleteBranchOutcome =
  | { kind: 'deleted' }
  /** The branch is at another commit, or is gone. */
  | { kind: 'moved' }
  /** Nothing was deleted, as far as the answers tell; the next reader of the branch sees it. */
  | { kind: 'kept'; reason: string }

/** Deletes each branch that still points to exactly its given commit, on disk or on the git host. */
export async function deleteBranches(
  repo: Repository,
  branches: { branch: string; sha: Sha }[],
  options: CallOptions = {},
): Promise<Map<string, DeleteBranchOutcome>> {
  const updates = branches.map(({ branch, sha }) => ({
    ref: `refs/heads/${requireBranchName(branch)}`,
    oldSha: requireSha(sha),
    newSha: zeroSha(sha),
  }))
  if (updates.length === 0) return new Map()
  const { dir, remote } = repo
  const outcomes = remote ? await deleteOnHost({ dir, remote }, updates, options) : await deleteOnDisk(repo, updates)
  return new Map(branches.map(({ branch }, at) => [branch, outcomes[at]!]))
}

async function deleteOnDisk(repo: Repository, updates: RefUpdate[]): Promise<DeleteBranchOutcome[]> {
  // One transaction rewrites the file of packed refs once. It fails as a whole when one branch moved.
  if ((await moveRefs(repo, updates)).kind === 'moved') return updates.map(() => ({ kind: 'deleted' }))
  const outcomes: DeleteBranchOutcome[] = []
  for (const update of updates) outcomes.push(await deleteOne(repo, update))
  return outcomes
}

async function deleteOne(repo: Repository, update: RefUpdate): Promise<DeleteBranchOutcome> {
  const outcome = await moveRefs(repo, [update])
  switch (outcome.kind) {
    case 'moved':
      return { kind: 'deleted' }
    case 'stale':
      return { kind: 'moved' }
    case 'busy':
      return { kind: 'kept', reason: busyReason }
    case 'full':
      return { kind: 'kept', reason: 'The disk of this server is full.' }
    case 'refused':
      return { kind: 'kept', reason: outcome.reason }
    default:
      return outcome satisfies never
  }
}

async function deleteOnHost(
  repo: Repository & { remote: Remote },
  updates: RefUpdate[],
  options: CallOptions,
): Promise<DeleteBranchOutcome[]> {
  const pushed = await pushRefs(repo.dir, repo.remote, updates, options)
  if (pushed.kind === 'not-sent') return updates.map(() => ({ kind: 'kept', reason: pushed.reason }))
  if (pushed.kind === 'unknown') return whatIsLeft(repo, updates, pushed.reason, options)
  return updates.map(({ ref }) => {
    const answer = pushed.refs.get(ref)
    if (answer?.kind === 'done') return { kind: 'deleted' }
    if (answer === undefined || answer.kind === 'stale') return { kind: 'moved' }
    return { kind: 'kept', reason: answer.reason }
  })
}

/** The host did not answer, so its branches show what it did. */
async function whatIsLeft(
  repo: Repository,
  updates: RefUpdate[],
  reason: string,
  options: CallOptions,
): Promise<DeleteBranchOutcome[]> {
  const names = updates.map(({ ref }) => ref.slice('refs/heads/'.length))
  const now = await readTips(repo, names, options)
  return names.map((name) =>
    now.kind === 'tips' && !now.tips.has(name) ? { kind: 'deleted' } : { kind: 'kept', reason },
  )
}
