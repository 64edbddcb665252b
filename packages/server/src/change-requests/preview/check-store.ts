import type { Db, DbOrTransaction, NewRow } from '../../db/schema.ts'

export type Checked = Pick<NewRow<'change_request_checks'>, 'cr_id' | 'base_sha' | 'head_sha' | 'can_merge'>

/** Those whose current pair of commits has no check yet. */
export async function uncheckedOf<P extends { cr: { cr_id: string }; base: string; head: string }>(db: Db, pairs: P[]) {
  if (pairs.length === 0) return []
  const rows = await db
    .selectFrom('change_request_checks')
    .select(['cr_id', 'base_sha', 'head_sha'])
    .where(
      'cr_id',
      'in',
      pairs.map(({ cr }) => cr.cr_id),
    )
    .execute()
  const checked = new Map(rows.map((row) => [row.cr_id, `${row.base_sha} ${row.head_sha}`]))
  return pairs.filter(({ cr, base, head }) => checked.get(cr.cr_id) !== `${base} ${head}`)
}

/** Returns the previous result; a change request without one counts as clean. The caller holds the lock of the change request. */
export async function recordCheck(trx: DbOrTransaction, checked: Checked): Promise<boolean> {
  const before = await trx
    .selectFrom('change_request_checks')
    .select('can_merge')
    .where('cr_id', '=', checked.cr_id)
    .executeTakeFirst()
  await trx
    .insertInto('change_request_checks')
    .values(checked)
    .onConflict((conflict) => conflict.column('cr_id').doUpdateSet({ ...checked, checked_at: new Date() }))
    .execute()
  return before?.can_merge ?? true
}
