import { eventTextMax, type ProjectEvent } from '@svc/contract'
import type { Actor } from '../auth/actor.ts'
import { boundSession } from '../auth/actor.ts'
import type { DbOrTransaction } from '../db/schema.ts'

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
  const isSomebody = actor !== null && actor.kind !== 'service'
  await trx
    .insertInto('project_events')
    .values({
      project_id: event.project_id,
      number: null,
      type: event.type,
      actor_user_id: isSomebody ? actor.user_id : null,
      actor_session_id: isSomebody ? boundSession(actor) : null,
      data: JSON.stringify(event.data),
    })
    .execute()
}

/** A title or a reason as an event has it. */
export function shortened(text: string): string {
  return text.length <= eventTextMax ? text : `${text.slice(0, eventTextMax - 1)}…`
}
