import { keepCommits, type Repository } from '@svc/git'
import { auditPerRow } from '../audit/record.ts'
import type { DbOrTransaction } from '../db/schema.ts'
import type { Deps } from '../deps.ts'
import { eventPerRow } from '../events/record.ts'
import '../failpoint.ts'
import { markLanded, type MergeAttempt } from './attempts.ts'
import { auditOf } from './audit.ts'
import { requireMove } from './moves.ts'
import { type ChangeRequestRow, lockChangeRequest, markMerged, requireChangeRequest } from './store.ts'
import { changeRequestEvent } from './tell.ts'

/** A merge that is on its branch, with the row that tells of it. */
export interface Merged {
  cr: ChangeRequestRow
  attempt: MergeAttempt
}

/**
 * Writes down that the result of `attempt` is on the branch: attempt, change request, audit and event in one statement. The
 * caller holds the lock of the base. `found` is the change request as whoever holds it read it last.
 */
export async function recordMerge(
  deps: Pick<Deps, 'db' | 'now'>,
  repository: Repository,
  attempt: MergeAttempt,
  found?: ChangeRequestRow,
): Promise<Merged> {
  const { base_sha, head_sha } = attempt
  found ??= await requireChangeRequest(deps.db, attempt.project_id, attempt.cr_id)
  await failpoint('merge.before_keep')
  // Kept before anything says merged: a row that says so can show its diff for ever.
  if (found.status !== 'merged') await keepCommits(repository, { number: found.number, base: base_sha, head: head_sha })
  await failpoint('merge.after_keep')
  await failpoint('merge.before_row')
  const cr = (await mark(deps.db, deps, attempt, found)) ?? (await markAsFound(deps, attempt))
  await failpoint('merge.after_row')
  return { cr, attempt }
}

/** null, and nothing written: it is not open, or not as it was found. */
function mark(
  db: DbOrTransaction,
  deps: Pick<Deps, 'now'>,
  attempt: MergeAttempt,
  found: ChangeRequestRow,
): Promise<ChangeRequestRow | null> {
  const { kind, base_sha, head_sha, result_sha, caller } = attempt
  const shas = { base_commit_sha: base_sha, head_commit_sha: head_sha, merge_commit_sha: result_sha }
  const audit = auditOf(found, 'merge', {
    before: { status: 'open', base_commit_sha: base_sha },
    after: { status: 'merged', kind, merge_commit_sha: result_sha, head_commit_sha: head_sha },
  })
  const event = changeRequestEvent('change_request.merged', { ...found, ...shas, status: 'merged' })
  const tellers = (of: string) => ({
    audit: auditPerRow(caller, audit, of),
    event: eventPerRow(event, caller.actor, of),
  })
  return markMerged(db, { found, attempt, at: deps.now(), tellers })
}

/** The same for one that somebody edited, or merged: a lock can be lost with its connection, and then another server may have looked, and recorded it, or given it up too early. */
async function markAsFound(deps: Pick<Deps, 'db' | 'now'>, attempt: MergeAttempt): Promise<ChangeRequestRow> {
  return deps.db.transaction().execute(async (trx) => {
    const now = await lockChangeRequest(trx, attempt.project_id, attempt.cr_id)
    if (now.status === 'merged') {
      await markLanded(trx, attempt.attempt_id, deps.now())
      return now
    }
    requireMove('merge', now)
    const after = await mark(trx, deps, attempt, now)
    if (after === null)
      throw new Error(`The change request ${attempt.cr_id} is open, and yet cannot be marked as merged.`)
    return after
  })
}
