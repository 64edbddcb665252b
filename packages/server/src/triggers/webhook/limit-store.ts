/** Limits webhook triggers, which could start themselves without end: the signing secret does not identify the caller. */
import { projectSettings, ServiceError, webhooksPerMinuteMax } from '@svc/contract'
import { sql } from 'kysely'
import type { DbOrTransaction } from '../../db/schema.ts'
import type { ProjectRow } from '../../projects/store.ts'
import { liveStatuses } from '../../sessions/store.ts'
import { countRecent, type TriggerKey } from '../store.ts'

type OfProject = Pick<ProjectRow, 'project_id' | 'settings'>

export async function requireWebhookRate(db: DbOrTransaction, project: OfProject, trigger: TriggerKey): Promise<void> {
  const of = { projectId: trigger.project_id, slug: trigger.slug, kind: 'webhook' as const }
  if ((await countRecent(db, { ...of, seconds: 60 })) >= webhooksPerMinuteMax)
    throw tooMany(`${webhooksPerMinuteMax} deliveries were accepted within a minute.`, { retry_after_seconds: 60 })
  const limit = projectSettings.parse(project.settings).webhook_fires_per_hour_max
  const freesAt = await secondsUntilRoom(db, trigger, limit)
  if (freesAt === null) return
  throw tooMany(`This webhook fired ${limit} times within an hour.`, {
    ...{ setting: 'webhook_fires_per_hour_max', limit },
    retry_after_seconds: freesAt,
  })
}

/** Counts live sessions by the planned id of their slot. The count is exact while the account is locked. */
export async function refuseTooManyWebhookSessions(
  db: DbOrTransaction,
  project: OfProject,
  trigger: TriggerKey,
): Promise<void> {
  const limit = projectSettings.parse(project.settings).webhook_sessions_max
  const { live } = await db
    .selectFrom('project_sessions as session')
    .select(({ fn }) => fn.countAll<number>().as('live'))
    .where('session.project_id', '=', trigger.project_id)
    .where('session.status', 'in', liveStatuses)
    .where(({ exists, selectFrom }) =>
      exists(
        selectFrom('trigger_slots as slot')
          .select('slot.slot_id')
          .where('slot.project_id', '=', trigger.project_id)
          .where('slot.slug', '=', trigger.slug)
          .where('slot.kind', '=', 'webhook')
          // A session with a warm sandbox has the id of that sandbox's session.
          .where(sql<boolean>`slot.planned_session_id in (session.session_id, session.asked_as)`),
      ),
    )
    .executeTakeFirstOrThrow()
  if (Number(live) < limit) return
  throw tooMany(`${live} of ${limit} sessions that this webhook started are live.`, {
    ...{ setting: 'webhook_sessions_max', limit, active_sessions: Number(live) },
    retry_after_seconds: 60,
  })
}

async function secondsUntilRoom(db: DbOrTransaction, trigger: TriggerKey, limit: number): Promise<number | null> {
  const row = await db
    .selectFrom('trigger_slots')
    .select(sql<number>`ceil(extract(epoch from created_at + interval '1 hour' - now()))::float8`.as('seconds'))
    .where((eb) => eb.and({ project_id: trigger.project_id, slug: trigger.slug, kind: 'webhook' }))
    .where('created_at', '>', sql<string>`now() - interval '1 hour'`)
    .orderBy('created_at', 'desc')
    .offset(limit - 1)
    .limit(1)
    .executeTakeFirst()
  return row === undefined ? null : Math.max(1, row.seconds)
}

function tooMany(message: string, detail: Record<string, unknown> & { retry_after_seconds: number }): ServiceError {
  return new ServiceError('limit_reached', message, {
    hint: 'No session was started. Send the delivery again later; an owner or admin of the account can raise the webhook limits.',
    detail,
  })
}
