import { promptBytesMax, type Review, type ReviewComment, ServiceError } from '@svc/contract'
import { recordAudit } from '../audit/record.ts'
import { boundSession, type Caller } from '../auth/actor.ts'
import type { DbOrTransaction } from '../db/schema.ts'
import type { ProjectRow } from '../projects/store.ts'
import { promptSession } from '../sessions/prompt.ts'
import { getSession } from '../sessions/store.ts'
import { auditOf } from './audit.ts'
import { reviewPrompt } from './review-prompt.ts'
import { getReview, insertReview } from './review-store.ts'
import { type ChangeRequestRow, requireChangeRequest } from './store.ts'
import { tellChangeRequest } from './tell.ts'

export interface CreateReview {
  project: ProjectRow
  caller: Caller
  crId: string
  /** The id the review gets, and its prompt: the same again when the request is a retry. */
  reviewId: string
  head_sha: string
  body: string
  comments: ReviewComment[]
  send: boolean
}

/** Kept and sent in one transaction: no session is told of a review that is not there, and none that is there was not told. */
export async function createReview(deps: Parameters<typeof promptSession>[0], input: CreateReview): Promise<Review> {
  const { project, caller, reviewId } = input
  const cr = await requireChangeRequest(deps.db, project.project_id, input.crId)
  if (boundSession(caller.actor) !== null)
    throw new ServiceError('forbidden', 'An agent does not review change requests.', {
      hint: 'A person reviews them, on the page of the change request or with a token of their own.',
    })
  const keep = (sessionId: string | null) => async (trx: DbOrTransaction) => {
    const isNew = await insertReview(trx, {
      review_id: reviewId,
      cr_id: cr.cr_id,
      head_sha: input.head_sha,
      body: input.body,
      comments: JSON.stringify(input.comments),
      created_by: caller.actor.user_id,
      session_id: sessionId,
    })
    const after = { review_id: reviewId, comments: input.comments.length, session_id: sessionId }
    if (!isNew) return
    await recordAudit(trx, caller, auditOf(cr, 'review', { after }))
    await tellChangeRequest(trx, 'change_request.reviewed', cr, caller.actor, { review: after })
  }
  if (input.send) await send(deps, cr, input, keep)
  else await deps.db.transaction().execute(keep(null))
  return (await getReview(deps.db, reviewId))!
}

async function send(
  deps: Parameters<typeof promptSession>[0],
  cr: ChangeRequestRow,
  input: CreateReview,
  keep: (sessionId: string) => (trx: DbOrTransaction) => Promise<void>,
): Promise<void> {
  if (cr.status === 'merged')
    throw new ServiceError('conflict', 'This change request is merged, so there is nothing left to answer in it.', {
      hint: 'Start a new session for what is still to do, or keep the review without sending it.',
    })
  const session = cr.origin_session_id === null ? null : await getSession(deps.db, cr.project_id, cr.origin_session_id)
  if (session === null)
    throw new ServiceError('conflict', 'This change request has no session that a review could be sent to.', {
      hint: 'Keep the review without sending it ("send": false).',
    })
  const text = reviewPrompt(cr, input)
  if (Buffer.byteLength(text) > promptBytesMax)
    throw new ServiceError('invalid', 'The review is larger than a prompt may be, 256 KiB.', {
      hint: 'Send it in parts.',
      detail: { issues: [{ path: 'comments', message: 'are too large together' }] },
    })
  await promptSession(deps, {
    session,
    caller: input.caller,
    promptId: input.reviewId,
    text,
    instead: keep(session.session_id),
  })
}
