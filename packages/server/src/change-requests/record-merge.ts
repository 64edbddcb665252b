import { keepCommits, type Repository } from '@svc/git'
import { recordAudit } from '../audit/record.ts'
import type { Deps } from '../deps.ts'
import '../failpoint.ts'
import { markLanded, type MergeAttempt } from './attempts.ts'
import { auditOf } from './audit.ts'
import { requireMove } from './moves.ts'
import { type ChangeRequestRow, lockChangeRequest, markMerged, requireChangeRequest } from './store.ts'

/** A merge that is on its branch, with the row that tells of it. */
export interface Merged {
  cr: ChangeRequestRow
  attempt: MergeAttempt
}

/** Writes down that the result of `attempt` is on the branch: attempt, change request and audit in one transaction. The caller holds the lock of the base. */
export async function recordMerge(
  deps: Pick<Deps, 'db' | 'now'>,
  repository: Repository,
  attempt: MergeAttempt,
): Promise<Merged> {
  const { base_sha, head_sha, result_sha } = attempt
  const found = await requireChangeRequest(deps.db, attempt.project_id, attempt.cr_id)
  await failpoint('merge.before_keep')
  // Kept before anything says merged: a row that says so can show its diff for ever.
  if (found.status !== 'merged') await keepCommits(repository, found.number, { base: base_sha, head: head_sha })
  await failpoint('merge.after_keep')
  const cr = await deps.db.transaction().execute(async (trx) => {
    const before = await lockChangeRequest(trx, attempt.project_id, attempt.cr_id)
    await markLanded(trx, attempt.attempt_id, deps.now())
    // A lock can be lost with its connection: then another server may have looked, and recorded it, or given it up too early.
    if (before.status === 'merged') return before
    requireMove('merge', before)
    const merge = { merged_at: attempt.created_at, merged_by: attempt.merged_by, merge_commit_sha: result_sha }
    const after = await markMerged(trx, attempt.cr_id, { ...merge, base_sha, head_sha }, deps.now())
    await recordAudit(
      trx,
      attempt.caller,
      auditOf(after, 'merge', {
        before: { status: before.status, base_commit_sha: base_sha },
        after: { status: 'merged', kind: attempt.kind, merge_commit_sha: result_sha, head_commit_sha: head_sha },
      }),
    )
    await failpoint('merge.before_row')
    return after
  })
  await failpoint('merge.after_row')
  return { cr, attempt }
}
