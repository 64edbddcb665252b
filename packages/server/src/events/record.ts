import { eventTextMax, type ProjectEvent } from '@svc/contract'
import type { Actor } from '../auth/actor.ts'
import { boundSession } from '../auth/actor.ts'
import type { RawBuilder } from 'kysely'
import { insertPerRow } from '../db/insert-per-row.ts'
import type { DbOrTransaction, NewRow } from '../db/schema.ts'

/** The type decides the shape of the data. */
export type NewProjectEvent = ProjectEvent extends infer E
  ? E extends ProjectEvent
    ? Pick<E, 'project_id' | 'type' | 'data'>
    : never
  : never

/**
 * Tells of a change, in the transaction that makes it: the event is there exactly when the change is. It gets its number
 * as that transaction commits. `actor` is who did it; null for what the service noticed or did by itself.
 */
export async function recordEvent(
  trx: DbOrTransaction,
  event: NewProjectEvent,
  actor: Actor | null = null,
): Promise<void> {
  await trx.insertInto('project_events').values(eventRow(event, actor)).execute()
}

/** The same in the statement that makes the change: an event for each row that it changed. */
export function eventPerRow(event: NewProjectEvent, actor: Actor | null, of: string): RawBuilder<unknown> {
  return insertPerRow('project_events', eventRow(event, actor), of)
}

function eventRow(event: NewProjectEvent, actor: Actor | null): NewRow<'project_events'> {
  const isSomebody = actor !== null && actor.kind !== 'service'
  return {
    project_id: event.project_id,
    number: null,
    type: event.type,
    actor_user_id: isSomebody ? actor.user_id : null,
    actor_session_id: isSomebody ? boundSession(actor) : null,
    data: JSON.stringify(event.data),
  }
}

/** A title or a reason as an event has it. */
export function shortened(text: string): string {
  return text.length <= eventTextMax ? text : `${text.slice(0, eventTextMax - 1)}…`
}
