import { type AuditEvent, auditEvent } from '../audit/record.ts'
import type { ChangeRequestRow } from './store.ts'

export function auditOf(
  cr: ChangeRequestRow,
  action: 'open' | 'edit' | 'merge' | 'close' | 'reopen' | 'review' | 'pull_request',
  change: Pick<AuditEvent, 'before' | 'after'>,
): AuditEvent {
  return { ...auditEvent(cr, `change_request.${action}`, 'change_request', cr.cr_id), ...change }
}
