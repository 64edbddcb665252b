import type {
  PromptStatus,
  QuestionKind,
  QuestionStatus,
  SandboxStatus,
  SessionRefresh,
  SessionStatus,
  TurnError,
} from '@svc/contract'
import type { Generated, JSONColumnType } from 'kysely'
import type { InForce } from '../../sessions/refresh/in-force.ts'
import type { Default, Json, Now, Timestamp } from './columns.ts'

export interface SessionTables {
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
    request_sha256: Buffer | null
    is_busy: Default<boolean>
    last_turn_error: JSONColumnType<TurnError> | null
    first_turn_ended_at: Timestamp | null
    first_turn_error: JSONColumnType<TurnError> | null
    parent_session_id: string | null
    ancestors: Default<string[]>
    unkept_work: string | null
    refresh: JSONColumnType<SessionRefresh> | null
    next_sandbox_id: Generated<string>
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
    in_force: JSONColumnType<InForce> | null
  }
  session_phases: {
    session_id: string
    generation: number
    position: number
    name: string
    started_at: Timestamp
    ms: number | null
    error: string | null
    note: string | null
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
  session_attachments: {
    attachment_id: string
    session_id: string
    prompt_id: string
    position: number
    name: string
    content_type: string
    bytes: number
    content: Buffer
    created_at: Now
  }
  session_questions: {
    question_id: string
    session_id: string
    generation: number
    kind: QuestionKind
    runtime_id: string | null
    position: Default<number>
    multiple: Default<boolean>
    title: string
    detail: string
    options: JSONColumnType<{ value: string; label: string }[]>
    status: Default<QuestionStatus>
    answer: string | null
    answered_by: string | null
    answered_at: Timestamp | null
    reason: string | null
    asked_at: Now
    expires_at: Timestamp | null
  }
}
