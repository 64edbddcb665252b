import type { AuditEvent } from '../audit/record.ts'
import type { ChangeRequestRow } from './store.ts'

export function auditOf(
  cr: ChangeRequestRow,
  action: 'open' | 'edit' | 'merge' | 'close' | 'reopen' | 'review' | 'pull_request',
  change: Pick<AuditEvent, 'before' | 'after'>,
): AuditEvent {
  return {
    account_id: cr.account_id,
    project_id: cr.project_id,
    action: `change_request.${action}`,
    object_type: 'change_request',
    object_id: cr.cr_id,
    ...change,
  }
}
