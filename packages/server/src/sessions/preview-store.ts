/** All SQL on previews: who may see which port, and that a session is in use. */
import { sql } from 'kysely'
import { tokenHolds } from '../auth/token-store.ts'
import type { DbOrTransaction, NewRow, Row } from '../db/schema.ts'

export type PreviewGrant = Row<'preview_grants'>

export async function insertGrant(db: DbOrTransaction, row: NewRow<'preview_grants'>): Promise<void> {
  // What has run out goes when something new comes, so the table stays as small as what is in use.
  await db
    .deleteFrom('preview_grants')
    .where('expires_at', '<', sql<string>`now()`)
    .execute()
  await db.insertInto('preview_grants').values(row).execute()
}

/** The first who brings it takes it away. */
export async function takeTicket(db: DbOrTransaction, sha256: Buffer): Promise<PreviewGrant | null> {
  const row = await db
    .deleteFrom('preview_grants')
    .where('sha256', '=', sha256)
    .where('is_ticket', '=', true)
    .where(tokenHolds(sql.ref('preview_grants.token_id')))
    .returningAll()
    .executeTakeFirst()
  return row === undefined || Date.parse(row.expires_at) < Date.now() ? null : row
}

export async function findGrant(db: DbOrTransaction, sha256: Buffer): Promise<PreviewGrant | null> {
  const row = await db
    .selectFrom('preview_grants')
    .selectAll()
    .where('sha256', '=', sha256)
    .where('is_ticket', '=', false)
    .where('expires_at', '>', sql<string>`now()`)
    .where(tokenHolds(sql.ref('preview_grants.token_id')))
    .executeTakeFirst()
  return row ?? null
}

/** Notes that a session is in use, at most once a minute: a page may ask a hundred times a second. */
export async function touchSession(db: DbOrTransaction, sessionId: string): Promise<void> {
  await db
    .updateTable('project_sessions')
    .set({ last_active_at: sql<string>`now()` })
    .where('session_id', '=', sessionId)
    .where('last_active_at', '<', sql<string>`now() - interval '1 minute'`)
    .execute()
}
