import { eventPathsMax, type ProjectEvent } from '@svc/contract'
import type { Actor } from '../auth/actor.ts'
import type { DbOrTransaction } from '../db/schema.ts'
import { recordEvent, shortened } from '../events/record.ts'
import type { ChangeRequestRow } from './store.ts'

type ChangeRequestEvent = Extract<ProjectEvent, { type: `change_request.${string}` }>
type More = Pick<ChangeRequestEvent['data'], 'changed' | 'conflicts' | 'review'>

/** Tells the project's events what became of a change request, in the transaction in which it did. `cr` is how it is now. */
export async function tellChangeRequest(
  trx: DbOrTransaction,
  type: ChangeRequestEvent['type'],
  cr: ChangeRequestRow,
  actor: Actor | null,
  more: More = {},
): Promise<void> {
  const { cr_id, number, title, status, base_ref, head_ref } = cr
  const { base_commit_sha, head_commit_sha, merge_commit_sha, origin_session_id } = cr
  const data = {
    ...{ cr_id, number, title: shortened(title), status, base_ref, head_ref },
    ...{ base_commit_sha, head_commit_sha, merge_commit_sha, origin_session_id },
    ...more,
    ...(more.conflicts === undefined ? {} : { conflicts: more.conflicts.slice(0, eventPathsMax).map(shortened) }),
  }
  await recordEvent(trx, { project_id: cr.project_id, type, data }, actor)
}
