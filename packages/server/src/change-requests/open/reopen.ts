import { recordAudit } from '../../audit/record.ts'
import type { Caller } from '../../auth/actor.ts'
import type { Deps } from '../../deps.ts'
import type { ProjectRow } from '../../projects/store.ts'
import { auditOf } from '../audit.ts'
import { requireMove } from '../moves.ts'
import { type ChangeRequestRow, lockChangeRequest, requireChangeRequest, updateChangeRequest } from '../store.ts'
import { recordChangeRequestEvent } from '../record-event.ts'
import { holdBranchesOf } from './hold-branches.ts'

/** The next read refreshes its tips. */
export async function reopenChangeRequest(
  deps: Pick<Deps, 'db' | 'now'>,
  input: { project: ProjectRow; caller: Caller; crId: string },
): Promise<ChangeRequestRow> {
  const found = await requireChangeRequest(deps.db, input.project.project_id, input.crId)
  return deps.db.transaction().execute(async (trx) => {
    const cr = await lockChangeRequest(trx, found.project_id, found.cr_id)
    requireMove('reopen', cr)
    await holdBranchesOf(trx, cr)
    const after = await updateChangeRequest(
      trx,
      cr.cr_id,
      { status: 'open', closed_at: null, closed_by: null },
      deps.now(),
    )
    await recordAudit(
      trx,
      input.caller,
      auditOf(cr, 'reopen', { before: { status: 'closed' }, after: { status: 'open' } }),
    )
    await recordChangeRequestEvent(trx, 'change_request.reopened', after, input.caller.actor)
    return after
  })
}
