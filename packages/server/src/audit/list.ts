import type { DbOrTransaction } from '../db/schema.ts'
import { cutPage, invalidCursor, readCursor } from '../http/page.ts'

const shown = [
  'event_id',
  'at',
  'project_id',
  'actor_kind',
  'actor_user_id',
  'token_id',
  'session_id',
  'request_id',
  'address',
  'action',
  'object_type',
  'object_id',
  'before',
  'after',
] as const

/** Newest first. `action` is an action, or the noun of several. */
export async function listAudit(
  db: DbOrTransaction,
  of: { accountId: string; projectId?: string | undefined; action?: string | undefined; userId?: string | undefined },
  page: { limit: number; cursor?: string | undefined },
) {
  let query = db
    .selectFrom('audit_events')
    .select(shown)
    .where('account_id', '=', of.accountId)
    .orderBy('event_id', 'desc')
    .limit(page.limit + 1)
  const { projectId, action, userId } = of
  if (projectId !== undefined) query = query.where('project_id', '=', projectId)
  if (userId !== undefined) query = query.where('actor_user_id', '=', userId)
  if (action !== undefined)
    query = query.where(({ eb, or }) =>
      or([eb('action', '=', action), eb(eb.fn('split_part', ['action', eb.val('.'), eb.lit(1)]), '=', action)]),
    )
  const after = readCursor(page.cursor)
  if (after !== null) query = query.where('event_id', '<', eventId(after[1]))
  return cutPage(await query.execute(), page.limit, (last) => [last.at, String(last.event_id)])
}

function eventId(text: string): number {
  if (/^[1-9]\d{0,14}$/.test(text)) return Number(text)
  throw invalidCursor()
}
