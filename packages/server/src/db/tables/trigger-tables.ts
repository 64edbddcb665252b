import type { ManifestTrigger } from '@svc/contract'
import type { JSONColumnType } from 'kysely'
import type { SlotInputs } from '../../triggers/slot-inputs.ts'
import type { Default, Now, Timestamp } from './columns.ts'

export interface TriggerTables {
  triggers: {
    project_id: string
    slug: string
    position: number
    type: 'cron' | 'webhook'
    definition: JSONColumnType<ManifestTrigger>
    enabled: boolean
    appeared_at: Timestamp
    next_due_at: Timestamp | null
    last_fired_at: Timestamp | null
    run_as: string | null
  }
  trigger_reconciliations: { project_id: string; sha: string | null; branch: string }
  trigger_slots: {
    slot_id: string
    project_id: string
    slug: string
    kind: 'cron' | 'webhook' | 'manual'
    slot_key: string
    due_at: Timestamp
    status: 'claimed' | 'fired' | 'skipped'
    reason: string | null
    caught_up: Default<boolean>
    planned_session_id: string
    session_id: string | null
    fired_at: Timestamp | null
    plan: JSONColumnType<SlotInputs> | null
    instance_id: string
    claimed_at: Now
    created_at: Now
  }
}
