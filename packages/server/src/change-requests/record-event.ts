import { eventPathsMax, type ProjectEvent } from '@svc/contract'
import type { Actor } from '../auth/actor.ts'
import type { DbOrTransaction } from '../db/schema.ts'
import { type NewProjectEvent, recordEvent, shortened } from '../events/record.ts'
import type { ChangeRequestRow } from './store.ts'

type ChangeRequestEvent = Extract<ProjectEvent, { type: `change_request.${string}` }>
type More = Pick<ChangeRequestEvent['data'], 'changed' | 'conflicts' | 'review'>

/** Records a project event about a change request, in the transaction of the change. `cr` is the row after the change. */
export async function recordChangeRequestEvent(
  trx: DbOrTransaction,
  type: ChangeRequestEvent['type'],
  cr: ChangeRequestRow,
  actor: Actor | null,
  more: More = {},
): Promise<void> {
  await recordEvent(trx, changeRequestEvent(type, cr, more), actor)
}

export function changeRequestEvent(
  type: ChangeRequestEvent['type'],
  cr: ChangeRequestRow,
  more: More = {},
): NewProjectEvent {
  const { cr_id, number, title, status, base_ref, head_ref } = cr
  const { base_commit_sha, head_commit_sha, merge_commit_sha, origin_session_id } = cr
  const data = {
    ...{ cr_id, number, title: shortened(title), status, base_ref, head_ref },
    ...{ base_commit_sha, head_commit_sha, merge_commit_sha, origin_session_id },
    ...more,
    ...(more.conflicts === undefined ? {} : { conflicts: more.conflicts.slice(0, eventPathsMax).map(shortened) }),
  }
  return { project_id: cr.project_id, type, data }
}
