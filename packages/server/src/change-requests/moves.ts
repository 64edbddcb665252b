import { type ChangeRequestMove, refuseMove, ServiceError } from '@svc/contract'
import type { ChangeRequestRow } from './store.ts'

/** Throws unless the table of moves allows this one now. */
export function requireMove(move: ChangeRequestMove, cr: ChangeRequestRow): void {
  const refusal = refuseMove(move, cr.status)
  if (refusal === null) return
  throw new ServiceError(move === 'reopen' ? 'conflict' : 'not_open', refusal, {
    detail: { status: cr.status, ...(cr.status === 'merged' ? { merge_commit_sha: cr.merge_commit_sha } : {}) },
  })
}
