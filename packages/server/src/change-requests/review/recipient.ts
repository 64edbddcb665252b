import { ServiceError } from '@svc/contract'
import type { DbOrTransaction } from '../../db/schema.ts'
import { getSession } from '../../sessions/store.ts'
import type { ChangeRequestRow } from '../store.ts'

/** The session that answers a review. */
export async function requireSessionToSend(db: DbOrTransaction, cr: ChangeRequestRow) {
  if (cr.status === 'merged')
    throw new ServiceError('conflict', 'This change request is merged, so its agent cannot respond to a review.', {
      hint: 'Start a new session for the remaining work, or save the review without sending it.',
    })
  const session = cr.origin_session_id === null ? null : await getSession(db, cr.project_id, cr.origin_session_id)
  if (session === null)
    throw new ServiceError('conflict', 'This change request has no session to send a review to.', {
      hint: 'Save the review without sending it ("send": false).',
    })
  return session
}
