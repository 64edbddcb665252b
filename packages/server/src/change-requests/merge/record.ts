import { keepCommits, keptCommitRefs, type Repository } from '@svc/git'
import { auditPerRow } from '../../audit/record.ts'
import type { DbOrTransaction } from '../../db/schema.ts'
import type { Deps } from '../../deps.ts'
import { eventPerRow } from '../../events/record.ts'
import '../../failpoint.ts'
import { acknowledge, type AcknowledgeDeps } from '../../projects/acknowledge.ts'
import type { Homed } from '../../projects/home-store.ts'
import { markLanded, type MergeAttempt } from './attempt-store.ts'
import { auditOf } from '../audit.ts'
import { requireMove } from '../moves.ts'
import { type ChangeRequestRow, lockChangeRequest, markMerged, requireChangeRequest } from '../store.ts'
import { changeRequestEvent } from '../record-event.ts'

/** A merge that is on its branch, with the row that records it. */
export interface Merged {
  cr: ChangeRequestRow
  attempt: MergeAttempt
}

export type RecordDeps = AcknowledgeDeps & Pick<Deps, 'now'>

/**
 * Records that the result of `attempt` is on the branch: attempt, change request, audit and event in one statement.
 * The caller holds the lock of the base. `found` is the change request as the lock's holder last read it.
 */
export async function recordMerge(
  deps: RecordDeps,
  repository: Repository,
  { attempt, project, found = null }: { attempt: MergeAttempt; project: Homed; found?: ChangeRequestRow | null },
): Promise<Merged> {
  const { base_sha, head_sha } = attempt
  found ??= await requireChangeRequest(deps.db, attempt.project_id, attempt.cr_id)
  await failpoint('merge.before_keep')
  // Keep the commits before the row says merged, so that its diff always stays readable.
  const kept = { number: found.number, base: base_sha, head: head_sha }
  if (found.status !== 'merged') await keepCommits(repository, kept)
  await failpoint('merge.after_keep')
  await failpoint('merge.before_row')
  const open = found
  const moved = repository.remote === null ? [{ ref: `refs/heads/${attempt.base_ref}`, old: base_sha }] : []
  const refs = [...moved, ...keptCommitRefs(kept).map(({ ref }) => ({ ref, old: null }))]
  const cr = await acknowledge(deps, { project, store: repository, refs }, async (db) => {
    return (await mark(db, deps, attempt, open)) ?? markAsFound(db, deps, attempt)
  })
  await failpoint('merge.after_row')
  return { cr, attempt }
}

/** Null, and nothing written, when it is not open or differs from `found`. */
function mark(db: DbOrTransaction, deps: Pick<Deps, 'now'>, attempt: MergeAttempt, found: ChangeRequestRow) {
  const { kind, base_sha, head_sha, result_sha, caller } = attempt
  const shas = { base_commit_sha: base_sha, head_commit_sha: head_sha, merge_commit_sha: result_sha }
  const audit = auditOf(found, 'merge', {
    before: { status: 'open', base_commit_sha: base_sha },
    after: { status: 'merged', kind, merge_commit_sha: result_sha, head_commit_sha: head_sha },
  })
  const event = changeRequestEvent('change_request.merged', { ...found, ...shas, status: 'merged' })
  const records = (of: string) => ({
    audit: auditPerRow(caller, audit, of),
    event: eventPerRow(event, caller.actor, of),
  })
  return markMerged(db, { found, attempt, at: deps.now(), records })
}

/**
 * Handles one that was edited or merged meanwhile: a lock can be lost with its connection, and another server may
 * then have recorded the merge or abandoned it too early.
 */
async function markAsFound(db: DbOrTransaction, deps: RecordDeps, attempt: MergeAttempt): Promise<ChangeRequestRow> {
  return withinTransaction(db, async (trx) => {
    const now = await lockChangeRequest(trx, attempt.project_id, attempt.cr_id)
    if (now.status === 'merged') {
      await markLanded(trx, attempt.attempt_id, deps.now())
      return now
    }
    requireMove('merge', now)
    const after = await mark(trx, deps, attempt, now)
    if (after === null) throw new Error(`The change request ${attempt.cr_id} is open, but was not marked as merged.`)
    return after
  })
}

/** A server that runs alone has none yet. */
export function withinTransaction<T>(db: DbOrTransaction, work: (trx: DbOrTransaction) => Promise<T>): Promise<T> {
  return db.isTransaction ? work(db) : db.transaction().execute(work)
}
