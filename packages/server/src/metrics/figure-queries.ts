/** Figures from the shared database, the same on every server. */
import { changeRequestStatuses, sessionStatuses } from '@svc/contract'
import { sql } from 'kysely'
import type { Db } from '../db/schema.ts'

export type Figures = Record<string, { help: string; label: string; values: Record<string, number> }>

interface Counted {
  kind: keyof typeof kinds
  label: string
  value: number
}

const kinds = {
  svc_sessions: { help: 'Sessions by status.', label: 'status' },
  svc_change_requests: { help: 'Change requests by status.', label: 'status' },
  svc_merges_unsettled: { help: 'Merges whose result is not yet known.', label: '' },
  svc_pending: { help: 'Work pending for a background job, by queue.', label: 'queue' },
  svc_pending_oldest_seconds: { help: 'Age of the oldest pending work, by queue.', label: 'queue' },
  svc_webhooks_failing: { help: 'Webhooks whose last attempt failed, and paused ones.', label: 'state' },
  svc_projects_without_copy: {
    help: 'Projects without a current copy of their repository on another running server, or whose copy cannot be written, where servers keep copies.',
    label: '',
  },
  svc_servers: { help: 'Servers with a heartbeat within the last minute.', label: '' },
} as const

/** Every part reads an index or a small table, or counts rows by status. */
export async function readFigures(db: Db): Promise<Figures> {
  const { rows } = await sql<Counted>`
    with queues (queue, at) as (
      select 'prompts', created_at from session_prompts where status = 'accepted'
      union all select 'trigger_slots', claimed_at from trigger_slots where status = 'claimed'
      union all select 'chat_events', created_at from channel_events where status = 'waiting'
      union all select 'chat_messages', updated_at from channel_messages where wanted > sent and given_up_at is null
      union all select 'checks', created_at from check_runs where status = 'queued'
      union all select 'app_deploys', created_at from app_deploys where status = 'queued')
    select 'svc_sessions' as kind, status::text as label, count(*) as value from project_sessions group by status
    union all select 'svc_change_requests', status::text, count(*) from change_requests group by status
    union all select 'svc_merges_unsettled', '', count(*) from merge_attempts where state = 'intended'
    union all select 'svc_pending', queue, count(*) from queues group by queue
    union all select 'svc_pending_oldest_seconds', queue, greatest(extract(epoch from now() - min(at)), 0)::float8
      from queues group by queue
    union all select 'svc_webhooks_failing', case when paused_reason is null then 'retrying' else 'paused' end, count(*)
      from webhooks where paused_reason is not null or failing_since is not null group by 2
    union all select 'svc_projects_without_copy', '', count(*) from projects p left join project_replicas r using (project_id)
      left join ref_counters c using (project_id)
      left join copy_failures f on f.project_id = p.project_id and f.epoch = p.home_epoch
      where p.deleted_at is null and p.home is not null
        and exists (select from servers where keeps_replicas)
        and (f.error is not null or r.project_id is null or r.epoch <> p.home_epoch or r.server = p.home or r.acknowledged_seq < coalesce(c.seq, 0)
          or not exists (select from server_instances i where i.server_name = r.server
            and i.heartbeat_at > now() - interval '1 minute'))
    union all select 'svc_servers', '', count(*) from server_instances where heartbeat_at > now() - interval '1 minute'
  `.execute(db)
  const figures: Figures = {}
  for (const [kind, { help, label }] of Object.entries(kinds))
    figures[kind] = { help, label, values: zeros[kind] ?? {} }
  for (const { kind, label, value } of rows)
    figures[kind]!.values = { ...figures[kind]!.values, [label]: Number(value) }
  return figures
}

const none = (labels: readonly string[]) => Object.fromEntries(labels.map((label) => [label, 0]))

/** Alerts and panels are hard to write for series that come and go, so what has no row is 0. */
const queues = ['prompts', 'trigger_slots', 'chat_events', 'chat_messages', 'checks', 'app_deploys']
const zeros: Record<string, Record<string, number>> = {
  svc_sessions: none(sessionStatuses),
  svc_change_requests: none(changeRequestStatuses),
  svc_pending: none(queues),
  svc_pending_oldest_seconds: none(queues),
  svc_merges_unsettled: { '': 0 },
  svc_projects_without_copy: { '': 0 },
  svc_webhooks_failing: none(['retrying', 'paused']),
}
