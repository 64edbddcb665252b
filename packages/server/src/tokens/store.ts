import { sql } from 'kysely'
import type { DbOrTransaction, NewRow } from '../db/schema.ts'
import { cutPage, readIdCursor } from '../http/page.ts'

const shown = ['token_id', 'name', 'project_id', 'session_id', 'expires_at', 'created_at', 'last_used_at'] as const

export async function insertToken(db: DbOrTransaction, row: NewRow<'tokens'>) {
  return db.insertInto('tokens').values(row).returning(shown).executeTakeFirstOrThrow()
}

/**
 * The token that mints, if it still holds, and until the transaction ends. Whoever ends the tokens of its session waits at
 * the session's row, whoever revokes it waits at its own.
 */
export async function holdMinter(
  db: DbOrTransaction,
  token: { token_id: string; session_id: string | null },
): Promise<{ mints_once: boolean } | null> {
  if (token.session_id !== null)
    await db
      .selectFrom('project_sessions')
      .select('session_id')
      .where('session_id', '=', token.session_id)
      .forShare()
      .execute()
  const row = await db
    .selectFrom('tokens')
    .select('mints_once')
    .where('token_id', '=', token.token_id)
    .where('revoked_at', 'is', null)
    // Two requests of a token that mints once take turns.
    .forUpdate()
    .executeTakeFirst()
  return row ?? null
}

/** From now on the token mints within its own bounds, as every other does. */
export async function spendMint(trx: DbOrTransaction, tokenId: string): Promise<void> {
  await trx.updateTable('tokens').set({ mints_once: false }).where('token_id', '=', tokenId).execute()
}

type Owner = { userId: string } | { projectId: string; sessionId: string | null }

/** Live tokens, newest first. A bound caller sees the tokens of its own session only. */
export async function listTokens(
  db: DbOrTransaction,
  owner: Owner,
  page: { limit: number; cursor?: string | undefined },
) {
  const after = readIdCursor(page.cursor)
  let query = db
    .selectFrom('tokens')
    .select(shown)
    .where('revoked_at', 'is', null)
    .orderBy('created_at', 'desc')
    .orderBy('token_id', 'desc')
    .limit(page.limit + 1)
  if ('userId' in owner) query = query.where('user_id', '=', owner.userId).where('project_id', 'is', null)
  else {
    query = query.where('project_id', '=', owner.projectId)
    if (owner.sessionId !== null) query = query.where('session_id', '=', owner.sessionId)
  }
  if (after !== null)
    query = query.where(({ eb, refTuple, tuple }) =>
      eb(refTuple('created_at', 'token_id'), '<', tuple(after[0], after[1])),
    )
  return cutPage(await query.execute(), page.limit, (last) => [last.created_at, last.token_id])
}

/** Whether a living token of that owner was revoked, and every token it minted with it. */
export async function revokeToken(trx: DbOrTransaction, tokenId: string, owner: Owner, at: Date): Promise<boolean> {
  let query = trx
    .selectFrom('tokens')
    .select('token_id')
    .where('token_id', '=', tokenId)
    .where('revoked_at', 'is', null)
  if ('userId' in owner) query = query.where('user_id', '=', owner.userId).where('project_id', 'is', null)
  else {
    query = query.where('project_id', '=', owner.projectId)
    if (owner.sessionId !== null) query = query.where('session_id', '=', owner.sessionId)
  }
  if ((await query.forUpdate().executeTakeFirst()) === undefined) return false
  await revokeWithDescendants(trx, tokenId, at)
  return true
}

/**
 * Ends a token and every token along the line it minted. A mint that is under way holds the row of its minter, so the
 * update waits for it; it is seen only by the next look, hence the repetition until nothing is left.
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
