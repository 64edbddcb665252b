/** The tables as Kysely sees them. db/schema.test.ts holds this against the migrated database. */
import type {
  ChangeRequestStatus,
  Manifest,
  ManifestIssue,
  ManifestTrigger,
  PromptStatus,
  ReviewComment,
  Role,
  SandboxStatus,
  SessionStatus,
  TurnError,
} from '@svc/contract'
import type { ColumnType, Generated, Insertable, JSONColumnType, Kysely, Selectable, Transaction } from 'kysely'
import type { AppTables } from './app-tables.ts'
import type { ChannelTables } from './channel-tables.ts'
import type { CheckTables } from './check-tables.ts'
import type { GitHostTables } from './git-host-tables.ts'
import type { ConnectorTables } from './connector-tables.ts'
import type { QuestionTables } from './question-tables.ts'
import type { SignInTables } from './sign-in-tables.ts'
import type { UsageTables } from './usage-tables.ts'
import type { Caller, ProjectActor, UserActor } from '../auth/actor.ts'
import type { SlotPlan } from '../triggers/slot-plan.ts'

/** ISO text with milliseconds: db/pool.ts parses it so, and replies send it as it is. */
export type Timestamp = ColumnType<string, string | Date, string | Date>
export type Default<T> = Generated<T>
export type Now = ColumnType<string, string | Date | undefined, string | Date>
type Json<T extends object = Record<string, unknown>> = JSONColumnType<T, string | undefined, string>

export interface Schema
  extends
    AppTables,
    ChannelTables,
    CheckTables,
    ConnectorTables,
    GitHostTables,
    QuestionTables,
    SignInTables,
    UsageTables {
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
  users: { user_id: string; name: string; email: string | null; created_at: Now }
  account_members: { account_id: string; user_id: string; role: Role; created_at: Now }
  projects: {
    project_id: string
    account_id: string
    slug: string
    name: string
    repo_url: string
    default_branch: string
    managed: boolean
    config_dir: Default<string>
    settings: Json
    next_cr_number: Default<number>
    data_key: Buffer
    data_key_wrapped_by: string | null
    git_username: string | null
    git_token: Buffer | null
    ssh_public_key: string | null
    secrets_revision: Default<number>
    created_at: Now
    updated_at: Now
  }
  project_sessions: {
    session_id: string
    account_id: string
    project_id: string
    name: string
    branch_name: string
    base_ref: string
    agent_name: string
    model: string | null
    status: SessionStatus
    desired: Default<'running' | 'stopped'>
    generation: Default<number>
    error: string | null
    stop_reason: string | null
    initial_prompt: string | null
    initial_prompt_delivered_at: Timestamp | null
    created_by: string | null
    metadata: Json
    asked_as: string | null
    is_busy: Default<boolean>
    last_turn_error: JSONColumnType<TurnError> | null
    first_turn_ended_at: Timestamp | null
    first_turn_error: JSONColumnType<TurnError> | null
    parent_session_id: string | null
    ancestors: Default<string[]>
    unkept_work: string | null
    created_at: Now
    updated_at: Now
    last_active_at: Now
  }
  warm_sandboxes: {
    sandbox_id: string
    session_id: string
    project_id: string
    instance_id: string
    driver: string
    external_id: string | null
    endpoint: string | null
    status: Default<'filling' | 'ready'>
    fingerprint: string
    commit_sha: string | null
    service_sha256: Buffer
    token_sha256: Buffer
    model_sha256: Buffer
    read_sha256: Buffer | null
    read_expires_at: Timestamp | null
    created_at: Now
    updated_at: Now
  }
  session_sandboxes: {
    sandbox_id: string
    session_id: string
    driver: string
    external_id: string | null
    status: SandboxStatus
    generation: number
    endpoint: string | null
    instance_id: string
    error: string | null
    created_at: Now
    updated_at: Now
    last_active_at: Now
  }
  session_phases: {
    session_id: string
    generation: number
    position: number
    name: string
    started_at: Timestamp
    ms: number | null
    error: string | null
  }
  session_prompts: {
    prompt_id: string
    session_id: string
    text: string
    status: Default<PromptStatus>
    error: string | null
    error_code: string | null
    created_by: string | null
    created_at: Now
    delivered_at: Timestamp | null
    settled_at: Timestamp | null
  }
  session_messages: {
    session_id: string
    message_id: string
    generation: number
    role: 'user' | 'assistant'
    created_at: Timestamp
    completed_at: Timestamp | null
    error: string | null
    parts: Json<object[]>
    updated_at: Now
    bytes: number | null
  }
  session_wip: {
    session_id: string
    generation: number
    commit_sha: string
    base_sha: string | null
    files: number
    unpushed_commits: number
    paths: Json<string[]>
    notes: Json<string[]>
    saved_at: Now
    recovered_at: Timestamp | null
  }
  session_snapshots: {
    project_id: string
    session_id: string
    commit_sha: string
    bytes: number
    kept_at: Now
  }
  preview_grants: {
    sha256: Buffer
    is_ticket: boolean
    session_id: string
    port: number
    user_id: string
    created_at: Now
    expires_at: Timestamp
    token_id: string | null
  }
  tokens: {
    token_id: string
    sha256: Buffer
    name: string
    user_id: string
    project_id: string | null
    session_id: string | null
    generation: number | null
    expires_at: Timestamp | null
    revoked_at: Timestamp | null
    created_at: Now
    last_used_at: Timestamp | null
    minted_by: string | null
    mints_once: Default<boolean>
  }
  sandbox_credentials: {
    credential_id: string
    kind: 'service' | 'clone' | 'model'
    sha256: Buffer
    project_id: string
    session_id: string
    sandbox_id: string
    generation: number
    user_id: string
    expires_at: Timestamp | null
    revoked_at: Timestamp | null
    created_at: Now
  }
  kept_secrets: {
    project_id: string
    sealed_sha256: Buffer
    name: string
    version: number
    sealed: Buffer
    kept_at: Now
  }
  given_secrets: { session_id: string; project_id: string; sealed_sha256: Buffer; given_at: Now }
  secrets: {
    project_id: string
    name: string
    version: number
    sealed: Buffer
    value_bytes: number
    created_by: string | null
    created_at: Now
    updated_at: Now
  }
  change_requests: {
    cr_id: string
    account_id: string
    project_id: string
    number: number
    title: string
    description: Default<string>
    base_ref: string
    head_ref: string
    status: Default<ChangeRequestStatus>
    head_commit_sha: string | null
    base_commit_sha: string | null
    origin_session_id: string | null
    created_by: string | null
    merged_at: Timestamp | null
    merged_by: string | null
    merge_commit_sha: string | null
    closed_at: Timestamp | null
    closed_by: string | null
    metadata: Json
    created_at: Now
    updated_at: Now
  }
  change_request_reviews: {
    review_id: string
    cr_id: string
    head_sha: string
    body: string
    comments: JSONColumnType<ReviewComment[], string, string>
    created_by: string | null
    session_id: string | null
    created_at: Now
  }
  change_request_heads: { cr_id: string; head_sha: string; seen_at: Now }
  default_branches: {
    project_id: string
    branch: string
    sha: string | null
    manifest: JSONColumnType<Manifest>
    issues: JSONColumnType<ManifestIssue[]>
    moved_at: Timestamp
    checked_at: Timestamp
  }
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
    plan: JSONColumnType<SlotPlan> | null
    instance_id: string
    claimed_at: Now
    created_at: Now
  }
  merge_attempts: {
    attempt_id: string
    cr_id: string
    project_id: string
    base_ref: string
    base_sha: string
    head_sha: string
    result_sha: string
    kind: 'fast-forward' | 'merge-commit' | 'up-to-date'
    message: string
    commit_date: Timestamp
    merged_by: string | null
    caller: JSONColumnType<Caller<UserActor | ProjectActor>>
    idempotency_key: string | null
    state: Default<'intended' | 'landed' | 'abandoned'>
    reason: string | null
    created_at: Now
    settled_at: Timestamp | null
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
  project_looks: { project_id: string; looked_at: Timestamp; wanted_at: Timestamp }
  change_request_checks: { cr_id: string; base_sha: string; head_sha: string; can_merge: boolean; checked_at: Now }
  host_webhooks: {
    project_id: string
    secret: Buffer
    created_at: Now
    last_call_at: Timestamp | null
    last_sender: string | null
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

export type Db = Kysely<Schema>
export type DbOrTransaction = Db | Transaction<Schema>
export type Row<Table extends keyof Schema> = Selectable<Schema[Table]>
export type NewRow<Table extends keyof Schema> = Insertable<Schema[Table]>
