import type { CheckLogLine, CheckStatus } from '@svc/contract'
import type { JSONColumnType } from 'kysely'
import type { Default, Now, Timestamp } from './columns.ts'

export interface CheckTables {
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
}
