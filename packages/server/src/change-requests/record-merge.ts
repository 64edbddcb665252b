import { keepCommits, type Repository } from '@svc/git'
import { recordAudit } from '../audit/record.ts'
import type { DbOrTransaction } from '../db/schema.ts'
import type { Deps } from '../deps.ts'
import '../failpoint.ts'
import { markLanded, type MergeAttempt } from './attempts.ts'
import { auditOf } from './audit.ts'
import { requireMove } from './moves.ts'
import { type ChangeRequestRow, lockChangeRequest, markMerged, requireChangeRequest } from './store.ts'
import { tellChangeRequest } from './tell.ts'

/** A merge that is on its branch, with the row that tells of it. */
export interface Merged {
  cr: ChangeRequestRow
  attempt: MergeAttempt
}

/**
 * Writes down that the result of `attempt` is on the branch: attempt, change request and audit in one transaction. The
 * caller holds the lock of the base. `found` is the change request as whoever holds it read it last.
 */
export async function recordMerge(
  deps: Pick<Deps, 'db' | 'now'>,
  repository: Repository,
  attempt: MergeAttempt,
  found?: ChangeRequestRow,
): Promise<Merged> {
  const { base_sha, head_sha, result_sha } = attempt
  found ??= await requireChangeRequest(deps.db, attempt.project_id, attempt.cr_id)
  await failpoint('merge.before_keep')
  // Kept before anything says merged: a row that says so can show its diff for ever.
  if (found.status !== 'merged') await keepCommits(repository, { number: found.number, base: base_sha, head: head_sha })
  await failpoint('merge.after_keep')
  const cr = await deps.db.transaction().execute(async (trx) => {
    const after = await markMerged(trx, attempt, deps.now())
    // A lock can be lost with its connection: then another server may have looked, and recorded it, or given it up too early.
    if (after === null) return foundMerged(trx, attempt, deps.now())
    await recordAudit(
      trx,
      attempt.caller,
      auditOf(after, 'merge', {
        before: { status: 'open', base_commit_sha: base_sha },
        after: { status: 'merged', kind: attempt.kind, merge_commit_sha: result_sha, head_commit_sha: head_sha },
      }),
    )
    await tellChangeRequest(trx, 'change_request.merged', after, attempt.caller.actor)
    await failpoint('merge.before_row')
    return after
  })
  await failpoint('merge.after_row')
  return { cr, attempt }
}

async function foundMerged(trx: DbOrTransaction, attempt: MergeAttempt, at: Date): Promise<ChangeRequestRow> {
  const now = await lockChangeRequest(trx, attempt.project_id, attempt.cr_id)
  if (now.status !== 'merged') {
    requireMove('merge', now)
    throw new Error(`The change request ${attempt.cr_id} is open, and yet cannot be marked as merged.`)
  }
  await markLanded(trx, attempt.attempt_id, at)
  return now
}
