import { describeActor } from '../auth/credentials.ts'
import type { Caller } from '../auth/actor.ts'
import type { DbOrTransaction } from '../db/schema.ts'

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
  await db
    .insertInto('audit_events')
    .values({
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
    })
    .execute()
}
