import type { DbOrTransaction, NewRow } from '../db/schema.ts'
import { cutPage, readIdCursor } from '../http/page.ts'

const shown = ['token_id', 'name', 'project_id', 'session_id', 'expires_at', 'created_at', 'last_used_at'] as const

export async function insertToken(db: DbOrTransaction, row: NewRow<'tokens'>) {
  return db.insertInto('tokens').values(row).returning(shown).executeTakeFirstOrThrow()
}

/** Whether a bound token holds, and until the transaction ends: whoever ends the tokens of its session waits at the session's row. */
export async function holdBoundToken(
  db: DbOrTransaction,
  token: { token_id: string; session_id: string },
): Promise<boolean> {
  await db
    .selectFrom('project_sessions')
    .select('session_id')
    .where('session_id', '=', token.session_id)
    .forShare()
    .execute()
  const row = await db
    .selectFrom('tokens')
    .select('token_id')
    .where('token_id', '=', token.token_id)
    .where('revoked_at', 'is', null)
    .executeTakeFirst()
  return row !== undefined
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

/** Whether a living token of that owner was revoked. */
export async function revokeToken(db: DbOrTransaction, tokenId: string, owner: Owner, at: Date): Promise<boolean> {
  let query = db
    .updateTable('tokens')
    .set({ revoked_at: at })
    .where('token_id', '=', tokenId)
    .where('revoked_at', 'is', null)
  if ('userId' in owner) query = query.where('user_id', '=', owner.userId).where('project_id', 'is', null)
  else {
    query = query.where('project_id', '=', owner.projectId)
    if (owner.sessionId !== null) query = query.where('session_id', '=', owner.sessionId)
  }
  const { numUpdatedRows } = await query.executeTakeFirst()
  return numUpdatedRows > 0n
}
