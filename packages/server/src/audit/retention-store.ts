import { sql } from 'kysely'
import type { DbOrTransaction } from '../db/schema.ts'

const atOnce = 10_000

/** Deletes rows of the audit log that are older. A trigger refuses every other deletion. */
export async function deleteOldAudit(db: DbOrTransaction, days: number): Promise<void> {
  const before = sql`now() - make_interval(days => ${days}::integer)`
  await sql`
    with named as (select set_config('svc.audit_deleted_before', (${before})::text, true))
    delete from audit_events where event_id in (
      select event_id from (select event_id, at from audit_events, named order by event_id limit ${atOnce}) oldest
      where at < ${before})`.execute(db)
}
