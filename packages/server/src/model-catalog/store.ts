import type { DbOrTransaction, Row } from '../db/schema.ts'

export type SavedUpstream = Row<'model_upstream'>

export async function readSavedUpstream(db: DbOrTransaction): Promise<SavedUpstream | null> {
  return (await db.selectFrom('model_upstream').selectAll().executeTakeFirst()) ?? null
}

export async function writeSavedUpstream(
  db: DbOrTransaction,
  upstream: Omit<SavedUpstream, 'singleton' | 'updated_at'> & { updated_at: Date },
): Promise<void> {
  await db
    .insertInto('model_upstream')
    .values(upstream)
    .onConflict((conflict) => conflict.column('singleton').doUpdateSet(upstream))
    .execute()
}

/** False when there was none. */
export async function deleteSavedUpstream(db: DbOrTransaction): Promise<boolean> {
  return (await db.deleteFrom('model_upstream').returning('singleton').executeTakeFirst()) !== undefined
}
