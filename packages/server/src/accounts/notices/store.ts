/** Credentials created in a user's name that may outlast their session, read from the audit log. */
import { sql } from 'kysely'
import type { UserActor } from '../../auth/actor.ts'
import type { DbOrTransaction } from '../../db/schema.ts'

/** Must match the partial index of migration 25. */
const actions = [
  'owner_link.create',
  'token.create',
  'cli_login.redeem',
  'invitation.create',
  'member.role',
  'channel_link.create',
]
const shownMax = 20

/** Events after the last dismissal. Actions of the current browser session are left out, because the user took them just now; their next session shows them. */
export async function listNotices(db: DbOrTransaction, { user_id, dashboard_session }: UserActor) {
  let query = db
    .selectFrom('audit_events')
    .leftJoin('tokens', 'tokens.token_id', 'audit_events.token_id')
    .select(['event_id as notice_id', 'at', 'action', 'address', 'tokens.name as token_name'])
    .select(sql<string | null>`coalesce(after ->> 'name', after ->> 'email', after ->> 'chat_user_name')`.as('name'))
    .where('actor_user_id', '=', user_id)
    .where('action', 'in', sql<string[]>`(${sql.join(actions.map((action) => sql.lit(action)))})` as never)
    .where('event_id', '>', sql<number>`coalesce((select event_id from notices_seen where user_id = ${user_id}), 0)`)
    .orderBy('event_id', 'desc')
    .limit(shownMax)
  if (dashboard_session !== undefined)
    query = query.where(({ eb, or }) =>
      or([eb('audit_events.token_id', 'is not', null), eb('at', '<', dashboard_session.created_at)]),
    )
  return query.execute()
}

export async function dismissNotices(db: DbOrTransaction, userId: string, upTo: number): Promise<void> {
  await db
    .insertInto('notices_seen')
    .values({ user_id: userId, event_id: upTo })
    .onConflict((conflict) =>
      conflict.column('user_id').doUpdateSet({
        event_id: sql<number>`greatest(notices_seen.event_id, excluded.event_id)`,
      }),
    )
    .execute()
}
