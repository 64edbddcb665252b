import type { DbOrTransaction, Row } from '../db/schema.ts'
import { recordEvent, shortened } from '../events/record.ts'

/** Records the result of a slot as a project event, in the transaction that sets it. */
export async function recordSlotEvent(
  trx: DbOrTransaction,
  type: 'trigger.fired' | 'trigger.missed',
  slot: Row<'trigger_slots'>,
): Promise<void> {
  const { project_id, slug, slot_id, kind, due_at, session_id } = slot
  const reason = slot.reason === null ? null : shortened(slot.reason)
  await recordEvent(trx, { project_id, type, data: { slug, slot_id, kind, due_at, session_id, reason } })
}
