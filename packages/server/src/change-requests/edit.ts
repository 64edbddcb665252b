import { isDeepStrictEqual } from 'node:util'
import { recordAudit } from '../audit/record.ts'
import type { Caller } from '../auth/actor.ts'
import type { Deps } from '../deps.ts'
import type { ProjectRow } from '../projects/store.ts'
import { auditOf } from './audit.ts'
import { requireMove } from './moves.ts'
import { type ChangeRequestRow, lockChangeRequest, requireChangeRequest, updateChangeRequest } from './store.ts'
import { tellChangeRequest } from './tell.ts'

export interface EditChangeRequest {
  project: ProjectRow
  caller: Caller
  crId: string
  title?: string | undefined
  description?: string | undefined
  metadata?: object | undefined
}

export async function editChangeRequest(
  deps: Pick<Deps, 'db' | 'now'>,
  input: EditChangeRequest,
): Promise<ChangeRequestRow> {
  const { title, description, metadata } = input
  const set = {
    ...(title === undefined ? {} : { title }),
    ...(description === undefined ? {} : { description }),
    ...(metadata === undefined ? {} : { metadata }),
  }
  const found = await requireChangeRequest(deps.db, input.project.project_id, input.crId)
  return deps.db.transaction().execute(async (trx) => {
    const cr = await lockChangeRequest(trx, found.project_id, found.cr_id)
    requireMove('edit', cr)
    if (Object.keys(set).length === 0) return cr
    const after = await updateChangeRequest(trx, cr.cr_id, set, deps.now())
    const changed = (row: ChangeRequestRow) =>
      Object.fromEntries(Object.keys(set).map((field) => [field, row[field as keyof typeof set]]))
    await recordAudit(trx, input.caller, auditOf(cr, 'edit', { before: changed(cr), after: changed(after) }))
    // Sent once more because its answer was lost, it changes nothing, and there is nothing to tell.
    const before: Record<string, unknown> = changed(cr)
    const told = Object.entries(changed(after)).flatMap(([field, value]) =>
      isDeepStrictEqual(value, before[field]) ? [] : [field],
    )
    if (told.length > 0)
      await tellChangeRequest(trx, 'change_request.updated', after, input.caller.actor, { changed: told })
    return after
  })
}
