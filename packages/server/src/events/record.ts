import { eventTextMax, type ProjectEvent } from '@svc/contract'
import type { Actor } from '../auth/actor.ts'
import { boundSession } from '../auth/actor.ts'
import type { RawBuilder } from 'kysely'
import { insertPerRow } from '../db/insert-per-row.ts'
import type { DbOrTransaction, NewRow } from '../db/schema.ts'
import { insertEvent } from './store.ts'

/** The type determines the shape of the data. */
export type NewProjectEvent = ProjectEvent extends infer E
  ? E extends ProjectEvent
    ? Pick<E, 'project_id' | 'type' | 'data'>
    : never
  : never

/**
 * Records a change in the transaction that makes it, so that no event exists without its change. The event gets its number
 * as that transaction commits. `actor` is null when the service detected or made the change by itself.
 */
export async function recordEvent(trx: DbOrTransaction, event: NewProjectEvent, actor: Actor | null = null) {
  await insertEvent(trx, eventRow(event, actor))
}

/** As part of the statement that makes the change: one event for each row it changed. */
export function eventPerRow(event: NewProjectEvent, actor: Actor | null, of: string): RawBuilder<unknown> {
  return insertPerRow('project_events', eventRow(event, actor), of)
}

function eventRow(event: NewProjectEvent, actor: Actor | null): NewRow<'project_events'> {
  const hasCaller = actor !== null && actor.kind !== 'service'
  return {
    project_id: event.project_id,
    number: null,
    type: event.type,
    actor_user_id: hasCaller ? actor.user_id : null,
    actor_session_id: hasCaller ? boundSession(actor) : null,
    data: JSON.stringify(event.data),
  }
}

/** Cuts a title or a reason to the length an event may have. */
export function shortened(text: string): string {
  return text.length <= eventTextMax ? text : `${text.slice(0, eventTextMax - 1)}…`
}
