import { type BodyOf, type createReviewRoute, promptBytesMax, type Review, ServiceError } from '@svc/contract'
import { recordAudit } from '../../audit/record.ts'
import type { Caller } from '../../auth/actor.ts'
import type { DbOrTransaction } from '../../db/schema.ts'
import type { ProjectRow } from '../../projects/store.ts'
import { promptSession } from '../../sessions/conversation/prompt.ts'
import { auditOf } from '../audit.ts'
import { reviewPrompt } from './prompt.ts'
import { quoteSuggestions } from './quote-lines.ts'
import { requireSessionToSend } from './recipient.ts'
import { deleteDrafts } from './state-store.ts'
import { getReview, insertReview } from './store.ts'
import { refuseAgent } from './threads.ts'
import { type ChangeRequestRow, requireChangeRequest } from '../store.ts'
import { recordChangeRequestEvent } from '../record-event.ts'

type CreateReview = BodyOf<typeof createReviewRoute> & {
  project: ProjectRow
  caller: Caller
  crId: string
  /** The id of the review and its prompt, the same when the request is a retry. */
  reviewId: string
}

/** Stored and sent in one transaction, so a session gets a prompt exactly when its review exists. */
export async function createReview(
  deps: Parameters<typeof promptSession>[0],
  { comments, ...given }: CreateReview,
): Promise<Review> {
  const { project, caller, reviewId } = given
  const cr = await requireChangeRequest(deps.db, project.project_id, given.crId)
  refuseAgent(caller, 'An agent cannot review change requests.')
  const input = { ...given, comments: await quoteSuggestions(deps, { ...given, comments }) }
  const save = (sessionId: string | null) => async (trx: DbOrTransaction) => {
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
    await deleteDrafts(trx, { crId: cr.cr_id, userId: caller.actor.user_id }, input.draft_ids ?? [])
    await recordAudit(trx, caller, auditOf(cr, 'review', { after }))
    await recordChangeRequestEvent(trx, 'change_request.reviewed', cr, caller.actor, { review: after })
  }
  if (input.send) await send(deps, cr, input, save)
  else await deps.db.transaction().execute(save(null))
  return (await getReview(deps.db, reviewId))!
}

async function send(
  deps: Parameters<typeof promptSession>[0],
  cr: ChangeRequestRow,
  input: CreateReview,
  save: (sessionId: string) => (trx: DbOrTransaction) => Promise<void>,
): Promise<void> {
  const session = await requireSessionToSend(deps.db, cr)
  const text = reviewPrompt(cr, input)
  if (Buffer.byteLength(text) > promptBytesMax)
    throw new ServiceError('invalid', 'The review exceeds the size limit of a prompt (256 KiB).', {
      hint: 'Send it in parts.',
      detail: { issues: [{ path: 'comments', message: 'exceed the size of a prompt' }] },
    })
  await promptSession(deps, {
    session,
    caller: input.caller,
    promptId: input.reviewId,
    text,
    instead: save(session.session_id),
  })
}
