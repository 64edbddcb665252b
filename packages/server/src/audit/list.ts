import { sql } from 'kysely'
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

/** The id of an object of this type, or null. */
const idOf = (type: string) =>
  sql`case when object_type = ${type} and object_id ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' then object_id::uuid end`

/** What a reader knows the objects by. A deleted object has no name any more. */
const names = [
  sql<number | null>`(select number from change_requests where cr_id = ${idOf('change_request')})`.as('object_number'),
  sql<string | null>`coalesce((select title from change_requests where cr_id = ${idOf('change_request')}),
    (select name from project_sessions s where s.session_id = ${idOf('session')}),
    -- Its path may be a secret, as those of chats are.
    (select substring(url from '^[a-z]+://([^/?#]+)') from webhooks
      where webhook_id = ${idOf('webhook')}))`.as('object_name'),
  sql<string | null>`(select coalesce(email, name) from users u where u.user_id = audit_events.actor_user_id)`.as(
    'actor_name',
  ),
  sql<string | null>`(select name from project_sessions s where s.session_id = audit_events.session_id)`.as(
    'session_name',
  ),
]

/** Newest first. `action` is an action, or the noun of several. */
export async function listAudit(
  db: DbOrTransaction,
  of: { accountId: string; projectId?: string | undefined; action?: string | undefined; userId?: string | undefined },
  page: { limit: number; cursor?: string | undefined },
) {
  let query = db
    .selectFrom('audit_events')
    .select([...shown, ...names])
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
