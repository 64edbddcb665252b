import type { ColumnType, Generated } from 'kysely'
import type { Default, Now, Timestamp } from './columns.ts'

export interface ServerTables {
  installation: { singleton: Default<boolean>; installation_id: string; master_key_id: string; created_at: Now }
  root_keys: {
    root_key_id: string
    master_key_id: string
    wrapped: Buffer
    position: Generated<number>
    created_at: Now
  }
  server_instances: {
    instance_id: string
    started_at: Now
    heartbeat_at: Now
    lock_taken_at: Timestamp | null
    knows_root_key: Default<boolean>
  }
  idempotency_keys: {
    scope: string
    key: string
    request_sha256: Buffer
    resource_id: string
    instance_id: string
    status: number | null
    body: ColumnType<unknown, string | null, string | null>
    created_at: Now
  }
  audit_events: {
    event_id: Generated<number>
    at: Now
    account_id: string | null
    project_id: string | null
    actor_kind: string
    actor_user_id: string | null
    token_id: string | null
    session_id: string | null
    request_id: string | null
    address: string | null
    action: string
    object_type: string
    object_id: string
    before: ColumnType<unknown, string | null, never>
    after: ColumnType<unknown, string | null, never>
  }
}
