/** Grants to see an app: a one-time ticket in the URL, exchanged for a cookie of the host of the app. */
import { sql } from 'kysely'
import { sha256 } from '../../auth/credentials.ts'
import { tokenHolds } from '../../auth/token-store.ts'
import { insertRow } from '../../db/rows.ts'
import type { DbOrTransaction, NewRow, Row } from '../../db/schema.ts'
import type { Deps } from '../../deps.ts'
import { originOf, ticketMs, ticketName } from '../../sandboxes/private-origin.ts'
import type { AppRow } from '../store.ts'

type AppGrant = Row<'app_grants'> & { session_id: string | null }
type GrantDeps = Pick<Deps, 'db' | 'now' | 'randomBytes'>

/** A URL that grants access to the first browser that opens it. */
export async function openApp(
  deps: GrantDeps & Pick<Deps, 'config'>,
  app: AppRow,
  by: { userId: string; tokenId: string | null },
): Promise<string> {
  const ticket = await grant(deps, app, { ...by, isTicket: true, ms: ticketMs })
  return `${originOf(deps.config, app.host)}/?${ticketName}=${ticket}`
}

/** Returns the secret value; the database stores its hash. */
export async function grant(
  deps: GrantDeps,
  app: Pick<AppRow, 'project_id' | 'slug'>,
  { userId, tokenId, isTicket = false, ms }: { userId: string; tokenId: string | null; isTicket?: boolean; ms: number },
): Promise<string> {
  const value = Buffer.from(deps.randomBytes(isTicket ? 24 : 32)).toString('base64url')
  await insertGrant(deps.db, {
    sha256: sha256(value),
    is_ticket: isTicket,
    project_id: app.project_id,
    slug: app.slug,
    user_id: userId,
    // The grant must not outlive the token that requested it.
    token_id: tokenId,
    expires_at: new Date(deps.now().getTime() + ms),
  })
  return value
}

async function insertGrant(db: DbOrTransaction, row: NewRow<'app_grants'>): Promise<void> {
  // Each insert deletes the expired grants, which keeps the table small.
  await db
    .deleteFrom('app_grants')
    .where('expires_at', '<', sql<string>`now()`)
    .execute()
  await insertRow(db, 'app_grants', row)
}

/** Deletes the ticket, so that it works once. */
export async function takeTicket(db: DbOrTransaction, value: string): Promise<AppGrant | null> {
  const row = await db
    .deleteFrom('app_grants')
    .where((eb) => eb.and({ sha256: sha256(value), is_ticket: true }))
    .returningAll()
    .executeTakeFirst()
  return row === undefined || Date.parse(row.expires_at) < Date.now() ? null : { ...row, session_id: null }
}

export async function findGrant(db: DbOrTransaction, value: string): Promise<AppGrant | null> {
  const row = await db
    .selectFrom('app_grants')
    .leftJoin('tokens', 'tokens.token_id', 'app_grants.token_id')
    .selectAll('app_grants')
    .select('tokens.session_id')
    .where('app_grants.sha256', '=', sha256(value))
    .where('is_ticket', '=', false)
    .where('app_grants.expires_at', '>', sql<string>`now()`)
    .where(tokenHolds(sql.ref('app_grants.token_id')))
    .executeTakeFirst()
  return row ?? null
}
