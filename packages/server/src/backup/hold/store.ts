import { deleteRows, findRow, upsertRow } from '../../db/rows.ts'
import type { DbOrTransaction, Row } from '../../db/schema.ts'

export type Held = Omit<Row<'held'>, 'singleton'>

export async function readHeld(db: DbOrTransaction): Promise<Held | null> {
  const row = await findRow(db, 'held', {})
  if (row === null) return null
  const { backup_id, backup_created_at, held_at } = row
  return { backup_id, backup_created_at, held_at }
}

export async function insertHeld(
  db: DbOrTransaction,
  held: Pick<Held, 'backup_id' | 'backup_created_at'>,
): Promise<void> {
  await upsertRow(db, 'held', { singleton: true, ...held, held_at: new Date() }, 'singleton')
}

/** False: nothing was held. */
export async function deleteHeld(db: DbOrTransaction): Promise<boolean> {
  return (await deleteRows(db, 'held', {})) > 0
}
