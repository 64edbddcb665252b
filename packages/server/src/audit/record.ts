import { describeActor } from '../auth/credentials.ts'
import type { Caller } from '../auth/actor.ts'
import type { RawBuilder } from 'kysely'
import { insertPerRow } from '../db/insert-per-row.ts'
import type { DbOrTransaction, NewRow } from '../db/schema.ts'

export interface AuditEvent {
  account_id: string | null
  project_id: string | null
  /** `change_request.merge`: noun, then verb. */
  action: string
  object_type: string
  object_id: string
  before?: object | null
  after?: object | null
}

/** One append-only row, written in the transaction of the change it tells of. */
export async function recordAudit(db: DbOrTransaction, caller: Caller, event: AuditEvent): Promise<void> {
  await db.insertInto('audit_events').values(auditRow(caller, event)).execute()
}

/** The same in the statement that makes the change: a row for each that it changed. */
export function auditPerRow(caller: Caller, event: AuditEvent, of: string): RawBuilder<unknown> {
  return insertPerRow('audit_events', auditRow(caller, event), of)
}

function auditRow(caller: Caller, event: AuditEvent): NewRow<'audit_events'> {
  return {
    ...describeActor(caller.actor),
    request_id: caller.requestId,
    address: caller.address,
    account_id: event.account_id,
    project_id: event.project_id,
    action: event.action,
    object_type: event.object_type,
    object_id: event.object_id,
    before: event.before ? JSON.stringify(event.before) : null,
    after: event.after ? JSON.stringify(event.after) : null,
  }
}
