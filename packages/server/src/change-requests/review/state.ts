import type { BodyOf, editReviewStateRoute, ReviewState } from '@svc/contract'
import type { Caller } from '../../auth/actor.ts'
import type { Deps } from '../../deps.ts'
import type { ProjectRow } from '../../projects/store.ts'
import { requireChangeRequest } from '../store.ts'
import { chooseFileOrder, lockState, markViewed, putDrafts, recordVisit, reviewState } from './state-store.ts'
import { refuseAgent } from './threads.ts'

interface Of {
  project: ProjectRow
  caller: Caller
  crId: string
}

export async function getReviewState(deps: Pick<Deps, 'db'>, { project, caller, crId }: Of): Promise<ReviewState> {
  const cr = await requireChangeRequest(deps.db, project.project_id, crId)
  refuseAgent(caller, 'An agent has no viewed files and drafts.')
  return reviewState(deps.db, { crId: cr.cr_id, userId: caller.actor.user_id })
}

/** Personal and of no effect on others, so it is neither an event nor in the audit log. */
export async function editReviewState(
  deps: Pick<Deps, 'db' | 'now'>,
  input: Of & BodyOf<typeof editReviewStateRoute>,
): Promise<ReviewState> {
  const cr = await requireChangeRequest(deps.db, input.project.project_id, input.crId)
  refuseAgent(input.caller, 'An agent has no viewed files and drafts.')
  const person = { crId: cr.cr_id, userId: input.caller.actor.user_id }
  return deps.db.transaction().execute(async (trx) => {
    await lockState(trx, person)
    if (input.viewed !== undefined) await markViewed(trx, person, input.viewed)
    if (input.drafts !== undefined) await putDrafts(trx, person, input.drafts)
    if (input.visited !== undefined) await recordVisit(trx, person, { headSha: input.visited, at: deps.now() })
    if (input.file_order !== undefined) await chooseFileOrder(trx, person, input.file_order)
    return reviewState(trx, person)
  })
}
