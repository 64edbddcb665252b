/** Who may see an app in which browser: a ticket in its address for the first visit, then a cookie of that name alone. */
import { sql } from 'kysely'
import { sha256 } from '../auth/credentials.ts'
import { tokenHolds } from '../auth/token-store.ts'
import type { DbOrTransaction, NewRow, Row } from '../db/schema.ts'
import type { Deps } from '../deps.ts'
import { appOrigin } from './present.ts'
import type { AppRow } from './store.ts'

export const ticketName = 'svc_ticket'
const ticketMs = 60_000
export const cookieMs = 12 * 60 * 60_000

export type AppGrant = Row<'app_grants'>
type GrantDeps = Pick<Deps, 'db' | 'now' | 'randomBytes'>

/** An address that lets the browser that opens it first see the app. */
export async function openApp(
  deps: GrantDeps & Pick<Deps, 'config'>,
  app: AppRow,
  by: { userId: string; tokenId: string | null },
): Promise<string> {
  const ticket = await grant(deps, app, { ...by, isTicket: true })
  return `${appOrigin(deps.config, app.host)}/?${ticketName}=${ticket}`
}

/** The value to hand out; the database keeps its hash. */
export async function grant(
  deps: GrantDeps,
  app: Pick<AppRow, 'project_id' | 'slug'>,
  { userId, tokenId, isTicket }: { userId: string; tokenId: string | null; isTicket: boolean },
): Promise<string> {
  const value = Buffer.from(deps.randomBytes(isTicket ? 24 : 32)).toString('base64url')
  await insertGrant(deps.db, {
    ...{ sha256: sha256(value), is_ticket: isTicket, project_id: app.project_id, slug: app.slug, user_id: userId },
    // It ends with the token that asked, which it would outlive otherwise.
    token_id: tokenId,
    expires_at: new Date(deps.now().getTime() + (isTicket ? ticketMs : cookieMs)),
  })
  return value
}

async function insertGrant(db: DbOrTransaction, row: NewRow<'app_grants'>): Promise<void> {
  // What has run out goes when something new comes, so the table stays as small as what is in use.
  await db
    .deleteFrom('app_grants')
    .where('expires_at', '<', sql<string>`now()`)
    .execute()
  await db.insertInto('app_grants').values(row).execute()
}

/** The first who brings it takes it away. */
export async function takeTicket(db: DbOrTransaction, value: string): Promise<AppGrant | null> {
  const row = await db
    .deleteFrom('app_grants')
    .where('sha256', '=', sha256(value))
    .where('is_ticket', '=', true)
    .returningAll()
    .executeTakeFirst()
  return row === undefined || Date.parse(row.expires_at) < Date.now() ? null : row
}

/** `session_id`: the session whose token opened the app. */
export async function findGrant(
  db: DbOrTransaction,
  value: string,
): Promise<(AppGrant & { session_id: string | null }) | null> {
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
