import { sql } from 'kysely'
import type { DbOrTransaction, NewRow } from '../db/schema.ts'
import { type PageQuery, readPage } from '../db/read-page.ts'
import { lockRow, updateRows } from '../db/rows.ts'

const shown = ['token_id', 'name', 'project_id', 'session_id', 'expires_at', 'created_at', 'last_used_at'] as const

export async function insertToken(db: DbOrTransaction, row: NewRow<'tokens'>) {
  return db.insertInto('tokens').values(row).returning(shown).executeTakeFirstOrThrow()
}

/** Locks the minting token until the transaction ends; null if it is revoked. A stop of its session waits for the session's row, a revocation for its own. */
export async function lockMinter(db: DbOrTransaction, token: { token_id: string; session_id: string | null }) {
  if (token.session_id !== null)
    await db
      .selectFrom('project_sessions')
      .select('session_id')
      .where('session_id', '=', token.session_id)
      .forShare()
      .execute()
  // Serializes requests of a token that mints once.
  return lockRow(db, 'tokens', { token_id: token.token_id, revoked_at: null })
}

/** From now on the token mints within its own limits. */
export async function spendMint(trx: DbOrTransaction, tokenId: string): Promise<void> {
  await updateRows(trx, 'tokens', { token_id: tokenId }, { mints_once: false })
}

export async function recordTokenUse(db: DbOrTransaction, tokenId: string, at: Date): Promise<void> {
  await updateRows(db, 'tokens', { token_id: tokenId }, { last_used_at: at })
}

type Owner = { userId: string } | { projectId: string; sessionId: string | null }

function ofOwner(db: DbOrTransaction, owner: Owner) {
  const query = db.selectFrom('tokens').where('tokens.revoked_at', 'is', null)
  if ('userId' in owner) return query.where('tokens.user_id', '=', owner.userId).where('tokens.project_id', 'is', null)
  const ofProject = query.where('tokens.project_id', '=', owner.projectId)
  return owner.sessionId === null ? ofProject : ofProject.where('tokens.session_id', '=', owner.sessionId)
}

/** Valid tokens, newest first. A caller bound to a session sees only that session's tokens. */
export function listTokens(db: DbOrTransaction, owner: Owner, page: PageQuery) {
  return readPage(ofOwner(db, owner).select(shown), ['created_at', 'token_id'], 'desc', page)
}

/** Also names the user of each, who may have left the account: their tokens are refused then. */
export function listProjectTokens(db: DbOrTransaction, owner: Owner, page: PageQuery) {
  const rows = ofOwner(db, owner)
    .innerJoin('users', 'users.user_id', 'tokens.user_id')
    .innerJoin('projects', 'projects.project_id', 'tokens.project_id')
    .leftJoin('account_members as member', (join) =>
      join.onRef('member.account_id', '=', 'projects.account_id').onRef('member.user_id', '=', 'tokens.user_id'),
    )
    .select(shown.map((column) => `tokens.${column}` as const))
    .select(['users.user_id as created_by', 'users.name as created_by_name'])
    .select(sql<boolean>`member.user_id is not null`.as('is_member'))
  return readPage(rows, ['tokens.created_at', 'tokens.token_id'], 'desc', page)
}

/** Revokes a token of this owner and every token it minted. False when there is no valid one. */
export async function revokeToken(trx: DbOrTransaction, tokenId: string, owner: Owner, at: Date): Promise<boolean> {
  const token = ofOwner(trx, owner).select('token_id').where('token_id', '=', tokenId).forUpdate()
  if ((await token.executeTakeFirst()) === undefined) return false
  await revokeWithDescendants(trx, tokenId, at)
  return true
}

/** The caller holds the lock of the session, so that no token is minted meanwhile. */
export async function revokeTokensOfSession(trx: DbOrTransaction, sessionId: string, at: Date): Promise<void> {
  await updateRows(trx, 'tokens', { session_id: sessionId, revoked_at: null }, { revoked_at: at })
}

/**
 * Revokes a token and its descendants. A concurrent mint holds its minter's row, so the update waits, but only the
 * next pass sees the new token. Hence the loop.
 */
async function revokeWithDescendants(trx: DbOrTransaction, tokenId: string, at: Date): Promise<void> {
  for (;;) {
    const { numAffectedRows = 0n } = await sql`
      with recursive line as (
        select token_id from tokens where token_id = ${tokenId}
        union select tokens.token_id from tokens join line on tokens.minted_by = line.token_id
      )
      update tokens set revoked_at = ${at.toISOString()}
      where token_id in (select token_id from line) and revoked_at is null`.execute(trx)
    if (numAffectedRows === 0n) return
  }
}
