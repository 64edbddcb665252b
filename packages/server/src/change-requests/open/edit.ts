import { isDeepStrictEqual } from 'node:util'
import { type BodyOf, type editChangeRequestRoute, isDraft, ServiceError } from '@svc/contract'
import { recordAudit } from '../../audit/record.ts'
import { type Actor, boundSession, type Caller } from '../../auth/actor.ts'
import { controlledOf } from '../../auth/session-control.ts'
import type { DbOrTransaction } from '../../db/schema.ts'
import type { Deps } from '../../deps.ts'
import type { ProjectRow } from '../../projects/store.ts'
import { auditOf } from '../audit.ts'
import { requireMove } from '../moves.ts'
import { type ChangeRequestRow, lockChangeRequest, requireChangeRequest, updateChangeRequest } from '../store.ts'
import { recordChangeRequestEvent } from '../record-event.ts'

type EditChangeRequest = BodyOf<typeof editChangeRequestRoute> & { project: ProjectRow; caller: Caller; crId: string }

export async function editChangeRequest(deps: Pick<Deps, 'db' | 'now'>, input: EditChangeRequest) {
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
    await requireOwnDraft(trx, input.caller.actor, { cr, metadata })
    if (Object.keys(set).length === 0) return cr
    const after = await updateChangeRequest(trx, cr.cr_id, set, deps.now())
    const changed = (row: ChangeRequestRow) =>
      Object.fromEntries(Object.keys(set).map((field) => [field, row[field as keyof typeof set]]))
    await recordAudit(trx, input.caller, auditOf(cr, 'edit', { before: changed(cr), after: changed(after) }))
    // A repeated request changes nothing, so it records no event.
    const before: Record<string, unknown> = changed(cr)
    const fields = Object.entries(changed(after)).flatMap(([field, value]) =>
      isDeepStrictEqual(value, before[field]) ? [] : [field],
    )
    if (fields.length > 0)
      await recordChangeRequestEvent(trx, 'change_request.updated', after, input.caller.actor, { changed: fields })
    return after
  })
}

/** People, and the agent whose session opened it, decide whether a change request is a draft. */
async function requireOwnDraft(
  db: DbOrTransaction,
  actor: Actor,
  { cr, metadata }: { cr: ChangeRequestRow; metadata: object | undefined },
): Promise<void> {
  if (
    metadata === undefined ||
    boundSession(actor) === null ||
    isDraft({ metadata: metadata as Record<string, unknown> }) ===
      isDraft({ metadata: cr.metadata as Record<string, unknown> })
  )
    return
  if (cr.origin_session_id !== null && (await controlledOf(db, actor, [cr.origin_session_id]))(cr.origin_session_id))
    return
  throw new ServiceError('forbidden', "An agent cannot change the draft state of another session's change request.", {
    hint: 'Ask the user to mark it as ready or as draft.',
  })
}
