import type { ChangeRequestStatus, CheckLogLine, CheckStatus, ReviewComment } from '@svc/contract'
import type { JSONColumnType } from 'kysely'
import type { Caller, ProjectActor, UserActor } from '../../auth/actor.ts'
import type { Default, Json, Now, Timestamp } from './columns.ts'

export interface ChangeRequestTables {
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
  change_request_checks: { cr_id: string; base_sha: string; head_sha: string; can_merge: boolean; checked_at: Now }
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
  change_request_trees: {
    cr_id: string
    project_id: string
    base_sha: string
    head_sha: string
    kind: 'tree' | 'conflicted' | 'up-to-date' | 'unavailable'
    tree_sha: string | null
    reason: string | null
    looked_at: Now
  }
  check_runs: {
    run_id: string
    account_id: string
    project_id: string
    tree_sha: string
    definition_hash: string
    name: string
    command: string
    status: Default<CheckStatus>
    attempt: Default<number>
    exit_code: number | null
    reason: string | null
    instance_id: string | null
    sandbox_id: string | null
    starts: Default<number>
    log_cut: Default<boolean>
    created_at: Now
    started_at: Timestamp | null
    ended_at: Timestamp | null
  }
  check_log_chunks: { chunk_id: Default<number>; run_id: string; lines: JSONColumnType<CheckLogLine[]>; bytes: number }
  protected_branches: {
    project_id: string
    branch: string
    reason: string
    found_by: 'api' | 'push'
    found_at: Timestamp
  }
  host_landings: {
    cr_id: string
    project_id: string
    number: number | null
    url: string | null
    created_by: string | null
    caller: JSONColumnType<Caller<UserActor | ProjectActor>>
    created_at: Timestamp
    checked_at: Now
  }
}
