import type { Generated, JSONColumnType } from 'kysely'
import type { Default, Now, Timestamp } from './columns.ts'

export interface EventTables {
  project_event_counters: { project_id: string; last: number; forgotten: Default<number> }
  project_events: {
    event_id: Generated<number>
    project_id: string
    number: number | null
    type: string
    actor_user_id: string | null
    actor_session_id: string | null
    data: JSONColumnType<object>
    created_at: Now
  }
  webhooks: {
    webhook_id: string
    project_id: string
    url: string
    events: JSONColumnType<string[]>
    secret: Buffer
    cursor: number
    attempts: Default<number>
    failing_since: Timestamp | null
    next_attempt_at: Timestamp | null
    last_error: string | null
    paused_reason: string | null
    lease_by: string | null
    lease_until: Now
    created_by: string | null
    created_at: Now
    updated_at: Now
  }
  webhook_deliveries: {
    delivery_id: string
    webhook_id: string
    event_number: number | null
    event_type: string
    status: Default<'waiting' | 'delivered' | 'failed'>
    by_hand: Default<boolean>
    attempts: Default<number>
    http_status: number | null
    error: string | null
    answer: string | null
    ms: number | null
    created_at: Now
    last_attempt_at: Timestamp | null
  }
}
