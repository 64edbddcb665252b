import { ServiceError } from '@svc/contract'
import { count } from '@svc/contract/count'
import { gitVersion, replayMerge, type Repository, treeOf } from '@svc/git'
import { fetchForRequest } from '../../projects/mirrors/fetch-for-request.ts'
import { managedDir } from '../../projects/repository.ts'
import type { ProjectRow } from '../../projects/store.ts'
import { withinLimits } from '../../projects/within-limits.ts'
import { type MergeAttempt, receiptOf } from './attempt-store.ts'
import { commitPair, type PairDeps } from '../preview/commit-pair.ts'
import { requireChangeRequest } from '../store.ts'

interface Result {
  tree: string | null
  commit: string | null
}

export interface Verification {
  verified: boolean
  kind: MergeAttempt['kind'] | null
  expected: Result
  got: Result
  git_version: string
  reason?: string
}

const nothing: Result = { tree: null, commit: null }

/** Repeats a merge from its receipt and compares the results. */
export async function verifyChangeRequest(
  deps: PairDeps,
  input: { project: ProjectRow; crId: string; signal: AbortSignal },
): Promise<Verification> {
  const { project, signal } = input
  const cr = await requireChangeRequest(deps.db, project.project_id, input.crId)
  if (cr.status !== 'merged')
    throw new ServiceError('conflict', `This change request is ${cr.status}, so there is no merge to verify.`, {
      detail: { status: cr.status },
    })
  const git_version = await gitVersion()
  const receipt = await receiptOf(deps.db, cr)
  if (receipt === null) {
    const expected = { tree: null, commit: cr.merge_commit_sha }
    const reason = 'This merge has no receipt.'
    return { verified: false, kind: null, expected, got: nothing, git_version, reason }
  }
  if (receipt.kind === 'up-to-date' && receipt.base_sha !== receipt.result_sha) {
    const expected = { tree: null, commit: receipt.result_sha }
    const reason = 'The git host made this merge by its own rules.'
    return { verified: false, kind: receipt.kind, expected, got: nothing, git_version, reason }
  }
  const { merge_lost_server: lostWith } = cr
  const dir = managedDir(deps, project.project_id)
  // The commits that it began from can be lost, too.
  if (lostWith !== null && (await treeOf({ dir, remote: null }, receipt.result_sha)) === null) {
    const expected = { tree: null, commit: receipt.result_sha }
    const reason = `It was lost when ${lostWith} was taken over.`
    return { verified: false, kind: receipt.kind, expected, got: nothing, git_version, reason }
  }
  const { repository } = await commitPair(deps, { project, cr, signal })
  const expected = { tree: await treeOfResult(repository, receipt.result_sha, signal), commit: receipt.result_sha }
  const answer = { kind: receipt.kind, expected, git_version }
  const replayed = await withinLimits(
    replayMerge(
      repository,
      {
        baseSha: receipt.base_sha,
        headSha: receipt.head_sha,
        message: receipt.message,
        date: new Date(receipt.commit_date),
      },
      { signal },
    ),
  )
  if (replayed.kind === 'conflicted')
    return {
      ...answer,
      verified: false,
      got: nothing,
      reason: `Repeating it conflicts in ${count(replayed.files.length, 'file')}.`,
    }
  const got = { tree: replayed.tree, commit: replayed.commit }
  const reason = differenceOf({ kind: receipt.kind, ...expected }, { kind: replayed.kind, ...got })
  return reason === null ? { ...answer, verified: true, got } : { ...answer, verified: false, got, reason }
}

function differenceOf(expected: Result & { kind: string }, got: Result & { kind: string }): string | null {
  if (expected.kind !== got.kind) return `It was a ${expected.kind}; repeating it gives a ${got.kind}.`
  if (expected.tree === null) return 'Its commit is no longer in the repository.'
  if (expected.tree !== got.tree) return 'Repeating it gives different content.'
  return expected.commit === got.commit ? null : 'Repeating it gives the same content in a different commit.'
}

/** Our own store first, as for the diff: the branch may have been rewound. */
async function treeOfResult(repository: Repository, sha: string, signal: AbortSignal): Promise<string | null> {
  return (
    (await treeOf(repository, sha)) ??
    ((await fetchForRequest(repository, [sha], signal)).kind === 'present' ? treeOf(repository, sha) : null)
  )
}
