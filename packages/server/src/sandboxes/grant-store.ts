/** Grants to see an app or a preview: a one-time ticket in the URL, exchanged for a cookie of the host. */
import { sql } from 'kysely'
import { sha256 } from '../auth/credentials.ts'
import { tokenHolds } from '../auth/token-store.ts'
import type { DbOrTransaction, NewRow, Row } from '../db/schema.ts'
import type { Deps } from '../deps.ts'

export type Grants = 'app_grants' | 'preview_grants'
/** The columns that name the app or preview of a grant. */
export type Place<T extends Grants> = T extends 'app_grants'
  ? Pick<Row<'app_grants'>, 'project_id' | 'slug'>
  : Pick<Row<'preview_grants'>, 'session_id' | 'port'>
export type GrantDeps = Pick<Deps, 'db' | 'now' | 'randomBytes'>

interface NewGrant {
  userId: string
  /** The grant must not outlive the token that requested it. */
  tokenId: string | null
  isTicket: boolean
  ms: number
}

export interface Grant extends Pick<Row<Grants>, 'user_id' | 'token_id' | 'expires_at'> {
  /** The session whose token opened the origin; null for a person. */
  opened_by: string | null
}

/** Returns the secret value; the database stores its hash. */
export async function grant<T extends Grants>(
  { db, now, randomBytes }: GrantDeps,
  table: T,
  place: Place<T>,
  { userId, tokenId, isTicket, ms }: NewGrant,
): Promise<string> {
  const value = Buffer.from(randomBytes(isTicket ? 24 : 32)).toString('base64url')
  // Each insert deletes the expired grants, which keeps the table small.
  await sql`delete from ${sql.table(table)} where expires_at < now()`.execute(db)
  const expires_at = new Date(now().getTime() + ms)
  const row = { ...place, sha256: sha256(value), is_ticket: isTicket, user_id: userId, token_id: tokenId, expires_at }
  await db
    .insertInto(table as Grants)
    .values(row as NewRow<Grants>)
    .execute()
  return value
}

const shown = sql`g.*, (select t.session_id from tokens t where t.token_id = g.token_id) as opened_by`

/** Deletes the ticket, so that it works once. Null also when it is for another place. */
export async function takeTicket(db: DbOrTransaction, table: Grants, hash: Buffer, place: object) {
  const { rows } = await sql<Grant>`
    delete from ${sql.table(table)} g where sha256 = ${hash} and is_ticket and ${tokenHolds(sql.ref('g.token_id'))}
    returning ${shown}`.execute(db)
  return rows.find((row) => Date.parse(row.expires_at) >= Date.now() && isFor(row, place)) ?? null
}

export async function findGrant(db: DbOrTransaction, table: Grants, hash: Buffer, place: object) {
  const { rows } = await sql<Grant>`
    select ${shown} from ${sql.table(table)} g where sha256 = ${hash} and not is_ticket and expires_at > now()
      and ${tokenHolds(sql.ref('g.token_id'))}`.execute(db)
  return rows.find((row) => isFor(row, place)) ?? null
}

const isFor = (row: object, place: object) =>
  Object.entries(place).every(([column, value]) => row[column as keyof typeof row] === value)
