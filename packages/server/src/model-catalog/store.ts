import { deleteRows, findRow, upsertRow } from '../db/rows.ts'
import type { DbOrTransaction, Row } from '../db/schema.ts'

export type SavedUpstream = Row<'model_upstream'>

export function readSavedUpstream(db: DbOrTransaction): Promise<SavedUpstream | null> {
  return findRow(db, 'model_upstream', {})
}

export async function writeSavedUpstream(
  db: DbOrTransaction,
  upstream: Omit<SavedUpstream, 'singleton' | 'updated_at'> & { updated_at: Date },
): Promise<void> {
  await upsertRow(db, 'model_upstream', upstream, 'singleton')
}

/** False when there was none. */
export async function deleteSavedUpstream(db: DbOrTransaction): Promise<boolean> {
  return (await deleteRows(db, 'model_upstream', {})) > 0
}
