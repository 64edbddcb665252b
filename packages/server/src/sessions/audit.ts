import type { AuditEvent } from '../audit/record.ts'
import type { SessionRow } from './store.ts'

export function auditOf(
  session: Pick<SessionRow, 'account_id' | 'project_id' | 'session_id'>,
  action:
    | 'create'
    | 'update'
    | 'prompt'
    | 'terminal'
    | 'abort'
    | 'answer'
    | 'stop'
    | 'restart'
    | 'refresh'
    | 'delete'
    | 'save'
    | 'recover'
    | 'recovered',
  change: Pick<AuditEvent, 'before' | 'after'> = {},
): AuditEvent {
  return {
    account_id: session.account_id,
    project_id: session.project_id,
    action: `session.${action}`,
    object_type: 'session',
    object_id: session.session_id,
    ...change,
  }
}
