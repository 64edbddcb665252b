import type { Db, DbOrTransaction, NewRow } from '../../db/schema.ts'
import { findRow, listRows, upsertRow } from '../../db/rows.ts'

export type Checked = Pick<NewRow<'change_request_checks'>, 'cr_id' | 'base_sha' | 'head_sha' | 'can_merge'>

/** Those whose current pair of commits has no check yet. */
export async function uncheckedOf<P extends { cr: { cr_id: string }; base: string; head: string }>(db: Db, pairs: P[]) {
  const rows = await listRows(db, 'change_request_checks', { cr_id: pairs.map(({ cr }) => cr.cr_id) })
  const checked = new Map(rows.map((row) => [row.cr_id, `${row.base_sha} ${row.head_sha}`]))
  return pairs.filter(({ cr, base, head }) => checked.get(cr.cr_id) !== `${base} ${head}`)
}

/** Returns the previous result; a change request without one counts as clean. The caller holds the lock of the change request. */
export async function recordCheck(trx: DbOrTransaction, checked: Checked): Promise<boolean> {
  const before = await findRow(trx, 'change_request_checks', { cr_id: checked.cr_id })
  await upsertRow(trx, 'change_request_checks', { ...checked, checked_at: new Date() }, 'cr_id')
  return before?.can_merge ?? true
}
