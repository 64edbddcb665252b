import type { DbOrTransaction } from '../db/schema.ts'
import { recordEvent, shortened } from '../events/record.ts'
import type { SlotRow } from './store.ts'

/** Tells the project's events what came of a slot, in the transaction in which it did. */
export async function tellSlot(
  trx: DbOrTransaction,
  type: 'trigger.fired' | 'trigger.missed',
  slot: SlotRow,
): Promise<void> {
  const { project_id, slug, slot_id, kind, due_at, session_id } = slot
  const reason = slot.reason === null ? null : shortened(slot.reason)
  await recordEvent(trx, { project_id, type, data: { slug, slot_id, kind, due_at, session_id, reason } })
}
