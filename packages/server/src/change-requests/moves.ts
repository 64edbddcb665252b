import { type ChangeRequestMove, isDraft, refuseMove, ServiceError } from '@svc/contract'
import { type ChangeRequestRow, presentChangeRequest } from './store.ts'

export function requireMove(move: ChangeRequestMove, cr: ChangeRequestRow): void {
  const refusal = refuseMove(move, cr.status)
  if (refusal === null && move === 'merge' && isDraft(presentChangeRequest(cr)))
    throw new ServiceError('conflict', 'This change request is a draft, so it cannot be merged yet.', {
      hint: `Mark it as ready first: svc cr ready ${cr.number}, or the button on its page.`,
      detail: { draft: true },
    })
  if (refusal === null) return
  const { merge_lost_server: server, head_ref } = cr
  const hint = `Its merge was lost when ${server} was taken over. To merge it again, open a new change request of ${head_ref}.`
  throw new ServiceError(move === 'reopen' ? 'conflict' : 'not_open', refusal, {
    ...(server !== null && { hint }),
    detail: { status: cr.status, ...(cr.status === 'merged' ? { merge_commit_sha: cr.merge_commit_sha } : {}) },
  })
}
