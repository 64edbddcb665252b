import { type AuditEvent, auditEvent } from '../audit/record.ts'
import type { ChangeRequestRow } from './store.ts'

export function auditOf(
  cr: ChangeRequestRow,
  action:
    | ('open' | 'edit' | 'merge' | 'close' | 'reopen' | 'review' | 'pull_request')
    | 'apply_suggestions'
    | ('answer_comment' | 'reply_to_comment' | 'resolve_comment'),
  change: Pick<AuditEvent, 'before' | 'after'>,
): AuditEvent {
  return { ...auditEvent(cr, `change_request.${action}`, 'change_request', cr.cr_id), ...change }
}
