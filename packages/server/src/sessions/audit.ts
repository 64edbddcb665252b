import { type AuditEvent, auditEvent } from '../audit/record.ts'
import type { SessionRow } from './store.ts'

export function auditOf(
  session: Pick<SessionRow, 'account_id' | 'project_id' | 'session_id'>,
  verb: string,
  change: Pick<AuditEvent, 'before' | 'after'> = {},
): AuditEvent {
  return { ...auditEvent(session, `session.${verb}`, 'session', session.session_id), ...change }
}
