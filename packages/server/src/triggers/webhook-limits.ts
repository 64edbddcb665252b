/** What keeps a webhook trigger from starting itself without end: whoever holds its signing secret may call it, and the caller is unknown. */
import { projectSettings, ServiceError, webhooksPerMinuteMax } from '@svc/contract'
import { sql } from 'kysely'
import type { DbOrTransaction } from '../db/schema.ts'
import type { ProjectRow } from '../projects/store.ts'
import { liveStatuses } from '../sessions/store.ts'
import { countRecent, type TriggerRow } from './store.ts'

type OfProject = Pick<ProjectRow, 'project_id' | 'settings'>
type OfTrigger = Pick<TriggerRow, 'project_id' | 'slug'>

export async function refuseFlood(db: DbOrTransaction, project: OfProject, trigger: OfTrigger): Promise<void> {
  const of = { projectId: trigger.project_id, slug: trigger.slug, kind: 'webhook' as const }
  if ((await countRecent(db, { ...of, seconds: 60 })) >= webhooksPerMinuteMax)
    throw tooMany(`${webhooksPerMinuteMax} deliveries were taken within a minute.`, { retry_after_seconds: 60 })
  const limit = projectSettings.parse(project.settings).webhook_fires_per_hour_max
  const freesAt = await secondsUntilRoom(db, trigger, limit)
  if (freesAt === null) return
  throw tooMany(`This webhook fired ${limit} times within an hour.`, {
    ...{ setting: 'webhook_fires_per_hour_max', limit },
    retry_after_seconds: freesAt,
  })
}

/** Counts living sessions by the id their slot asked for, which is there before the session is. With the account locked the count is exact. */
export async function requireWebhookRoom(db: DbOrTransaction, project: OfProject, trigger: OfTrigger): Promise<void> {
  const limit = projectSettings.parse(project.settings).webhook_sessions_max
  const { living } = await db
    .selectFrom('project_sessions as session')
    .select(({ fn }) => fn.countAll<number>().as('living'))
    .where('session.project_id', '=', trigger.project_id)
    .where('session.status', 'in', liveStatuses)
    .where(({ exists, selectFrom }) =>
      exists(
        selectFrom('trigger_slots as slot')
          .select('slot.slot_id')
          .where('slot.project_id', '=', trigger.project_id)
          .where('slot.slug', '=', trigger.slug)
          .where('slot.kind', '=', 'webhook')
          // A session that took a warm sandbox has the id of that one.
          .where(sql<boolean>`slot.planned_session_id in (session.session_id, session.asked_as)`),
      ),
    )
    .executeTakeFirstOrThrow()
  if (Number(living) < limit) return
  throw tooMany(`${living} of ${limit} sessions that this webhook started are live.`, {
    ...{ setting: 'webhook_sessions_max', limit, active_sessions: Number(living) },
    retry_after_seconds: 60,
  })
}

/** Null: there is room. */
async function secondsUntilRoom(db: DbOrTransaction, trigger: OfTrigger, limit: number): Promise<number | null> {
  const row = await db
    .selectFrom('trigger_slots')
    .select(sql<number>`ceil(extract(epoch from created_at + interval '1 hour' - now()))::float8`.as('seconds'))
    .where('project_id', '=', trigger.project_id)
    .where('slug', '=', trigger.slug)
    .where('kind', '=', 'webhook')
    .where('created_at', '>', sql<string>`now() - interval '1 hour'`)
    .orderBy('created_at', 'desc')
    .offset(limit - 1)
    .limit(1)
    .executeTakeFirst()
  return row === undefined ? null : Math.max(1, row.seconds)
}

function tooMany(message: string, detail: Record<string, unknown> & { retry_after_seconds: number }): ServiceError {
  return new ServiceError('limit_reached', message, {
    hint: 'Nothing was started. Send the delivery again later; an owner or admin of the account can raise the limits of webhooks.',
    detail,
  })
}
