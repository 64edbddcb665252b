import { describeActor } from '../auth/credentials.ts'
import type { Caller } from '../auth/actor.ts'
import type { RawBuilder } from 'kysely'
import { insertPerRow } from '../db/insert-per-row.ts'
import { hasRow } from '../db/rows.ts'
import type { DbOrTransaction, NewRow } from '../db/schema.ts'

export interface AuditEvent {
  account_id: string | null
  project_id: string | null
  /** A noun and a verb: `change_request.merge`. */
  action: string
  object_type: string
  object_id: string
  before?: object | null
  after?: object | null
}

export function auditEvent(
  { account_id, project_id = null }: { account_id: string | null; project_id?: string | null },
  action: string,
  object_type: string,
  object_id: string,
): AuditEvent {
  return { account_id, project_id, action, object_type, object_id }
}

/** Appends a row in the transaction of the change. */
export async function recordAudit(db: DbOrTransaction, caller: Caller, event: AuditEvent): Promise<void> {
  await db.insertInto('audit_events').values(auditRow(caller, event)).execute()
}

/** Below the limit of PostgreSQL for the parameters of a statement. */
const rowsAtOnce = 1000

/** The same for several changes of one request. */
export async function recordAudits(db: DbOrTransaction, caller: Caller, events: AuditEvent[]): Promise<void> {
  for (let at = 0; at < events.length; at += rowsAtOnce) {
    const rows = events.slice(at, at + rowsAtOnce).map((event) => auditRow(caller, event))
    await db.insertInto('audit_events').values(rows).execute()
  }
}

/** Whether the act is recorded already, by an earlier try of it. */
export async function isAudited(
  db: DbOrTransaction,
  { project_id, action, object_id }: Pick<AuditEvent, 'project_id' | 'action' | 'object_id'>,
): Promise<boolean> {
  const rows = db.selectFrom('audit_events').where('project_id', '=', project_id)
  return hasRow(rows.where('action', '=', action).where('object_id', '=', object_id).select('event_id'))
}

/** A row for each changed row, in the statement that changes them. */
export function auditPerRow(caller: Caller, event: AuditEvent, of: string): RawBuilder<unknown> {
  return insertPerRow('audit_events', auditRow(caller, event), of)
}

/** An act of the operator: a process that reads the master key's file and reaches the database, without a token. */
export function recordOperatorAudit(db: DbOrTransaction, event: AuditEvent): Promise<void> {
  return recordWithoutUser(db, 'operator', event)
}

/** An act of the server by itself, as its settings say. */
export function recordServiceAudit(db: DbOrTransaction, event: AuditEvent): Promise<void> {
  return recordWithoutUser(db, 'service', event)
}

async function recordWithoutUser(
  db: DbOrTransaction,
  actor_kind: 'operator' | 'service',
  event: AuditEvent,
): Promise<void> {
  const actor = { actor_kind, actor_user_id: null, token_id: null, session_id: null }
  await db
    .insertInto('audit_events')
    .values({ ...actor, request_id: null, address: null, ...eventColumns(event) })
    .execute()
}

function auditRow(caller: Caller, event: AuditEvent): NewRow<'audit_events'> {
  return {
    ...describeActor(caller.actor),
    request_id: caller.requestId,
    address: caller.address,
    ...eventColumns(event),
  }
}

function eventColumns(event: AuditEvent) {
  const json = (value: object | null | undefined) => (value ? JSON.stringify(value) : null)
  return { ...event, before: json(event.before), after: json(event.after) }
}
