import { sql } from 'kysely'
import type { Db, DbOrTransaction, NewRow, Row } from '../../db/schema.ts'
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

export type OpenPair = Pick<
  Row<'change_requests'>,
  'project_id' | 'base_ref' | 'head_ref' | 'base_commit_sha' | 'head_commit_sha' | 'missing_ref'
> & {
  /** Whether the stored pair of commits was checked. */
  is_checked: boolean
}

/** The stored pairs of the newest open change requests of each project. */
export async function openPairs(db: DbOrTransaction, projectIds: string[], each: number): Promise<OpenPair[]> {
  if (projectIds.length === 0) return []
  const { rows } = await sql<OpenPair>`
    select c.project_id, c.base_ref, c.head_ref, c.base_commit_sha, c.head_commit_sha, c.missing_ref,
      coalesce(k.base_sha = c.base_commit_sha and k.head_sha = c.head_commit_sha, false) as is_checked
    from unnest(${projectIds}::uuid[]) of (project_id)
    cross join lateral (select * from change_requests one where one.project_id = of.project_id and one.status = 'open'
      order by one.number desc limit ${each}) c
    left join change_request_checks k on k.cr_id = c.cr_id`.execute(db)
  return rows
}
