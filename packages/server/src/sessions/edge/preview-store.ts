/** All SQL on grants to see previews, and on the use of sessions through them. */
import { sql } from 'kysely'
import { tokenHolds } from '../../auth/token-store.ts'
import { insertRow } from '../../db/rows.ts'
import type { DbOrTransaction, NewRow, Row } from '../../db/schema.ts'

export type PreviewGrant = Row<'preview_grants'>

export async function insertGrant(db: DbOrTransaction, row: NewRow<'preview_grants'>): Promise<void> {
  // Each insert deletes the expired grants, which keeps the table small.
  await db
    .deleteFrom('preview_grants')
    .where('expires_at', '<', sql<string>`now()`)
    .execute()
  await insertRow(db, 'preview_grants', row)
}

/** Deletes the ticket, so that it works once. */
export async function takeTicket(db: DbOrTransaction, sha256: Buffer): Promise<PreviewGrant | null> {
  const row = await db
    .deleteFrom('preview_grants')
    .where((eb) => eb.and({ sha256, is_ticket: true }))
    .where(tokenHolds(sql.ref('preview_grants.token_id')))
    .returningAll()
    .executeTakeFirst()
  return row === undefined || Date.parse(row.expires_at) < Date.now() ? null : row
}

export async function findGrant(db: DbOrTransaction, sha256: Buffer): Promise<PreviewGrant | null> {
  const row = await db
    .selectFrom('preview_grants')
    .selectAll()
    .where((eb) => eb.and({ sha256, is_ticket: false }))
    .where('expires_at', '>', sql<string>`now()`)
    .where(tokenHolds(sql.ref('preview_grants.token_id')))
    .executeTakeFirst()
  return row ?? null
}

/** Records the use of a session at most once a minute, because a page may send hundreds of requests per second. */
export async function touchSession(db: DbOrTransaction, sessionId: string): Promise<void> {
  await db
    .updateTable('project_sessions')
    .set({ last_active_at: sql<string>`now()` })
    .where('session_id', '=', sessionId)
    .where('last_active_at', '<', sql<string>`now() - interval '1 minute'`)
    .execute()
}
