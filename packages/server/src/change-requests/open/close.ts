import { ServiceError } from '@svc/contract'
import { recordAudit } from '../../audit/record.ts'
import type { Caller } from '../../auth/actor.ts'
import type { Deps } from '../../deps.ts'
import type { ProjectRow } from '../../projects/store.ts'
import { isBeingMerged } from '../merge/attempt-store.ts'
import { auditOf } from '../audit.ts'
import { inTurn } from '../merge/lock.ts'
import { requireMove } from '../moves.ts'
import { requireReconciled } from '../merge/reconcile.ts'
import { type ChangeRequestRow, lockChangeRequest, requireChangeRequest, updateChangeRequest } from '../store.ts'
import { recordChangeRequestEvent } from '../record-event.ts'

/** Closing a closed change request changes nothing. */
export async function closeChangeRequest(
  deps: Pick<Deps, 'db' | 'home' | 'locks' | 'localLocks' | 'replicas' | 'config' | 'keyring' | 'now' | 'log'>,
  input: { project: ProjectRow; caller: Caller; crId: string },
): Promise<ChangeRequestRow> {
  const found = await requireChangeRequest(deps.db, input.project.project_id, input.crId)
  // A merge in progress has to end first: its commit may already be on the branch.
  if (await isBeingMerged(deps.db, found.cr_id))
    await inTurn(deps, found, () => requireReconciled(deps, input.project, found.base_ref))
  return deps.db.transaction().execute(async (trx) => {
    const cr = await lockChangeRequest(trx, found.project_id, found.cr_id)
    requireMove('close', cr)
    if (cr.status === 'closed') return cr
    // A merge locks this row before it starts, so none can start from here on.
    if (await isBeingMerged(trx, cr.cr_id))
      throw new ServiceError('conflict', 'This change request is being merged right now.', {
        hint: 'Try again in a moment.',
      })
    const closed = { status: 'closed', closed_at: deps.now(), closed_by: input.caller.actor.user_id } as const
    const after = await updateChangeRequest(trx, cr.cr_id, closed, closed.closed_at)
    await recordAudit(
      trx,
      input.caller,
      auditOf(cr, 'close', { before: { status: 'open' }, after: { status: 'closed' } }),
    )
    await recordChangeRequestEvent(trx, 'change_request.closed', after, input.caller.actor)
    return after
  })
}
