import type { AppDeployStatus, AppLogLine, ManifestApp } from '@svc/contract'
import type { JSONColumnType } from 'kysely'
import type { Default, Now, Timestamp } from './columns.ts'

export interface AppTables {
  apps: {
    project_id: string
    slug: string
    position: number
    definition: JSONColumnType<ManifestApp>
    enabled: boolean
    host: string
    desired: Default<'running' | 'stopped'>
    hash: string | null
    commit_sha: string | null
    live_deploy_id: string | null
    next_number: Default<number>
    created_at: Now
  }
  app_reconciliations: {
    project_id: string
    sha: string | null
    branch: string
    secrets_revision: number
    provider: string
  }
  app_deploys: {
    deploy_id: string
    project_id: string
    slug: string
    number: number
    status: Default<AppDeployStatus>
    hash: string
    commit_sha: string
    definition: JSONColumnType<ManifestApp>
    cause: 'default_branch' | 'request' | 'rollback'
    rollback_of: number | null
    error: string | null
    created_by: string | null
    instance_id: string | null
    sandbox_id: string | null
    attempts: Default<number>
    next_attempt_at: Timestamp | null
    created_at: Now
    ready_at: Timestamp | null
    ended_at: Timestamp | null
  }
  app_log_chunks: { chunk_id: Default<number>; deploy_id: string; lines: JSONColumnType<AppLogLine[]>; bytes: number }
  app_grants: {
    sha256: Buffer
    is_ticket: boolean
    project_id: string
    slug: string
    user_id: string
    expires_at: Timestamp
    token_id: string | null
  }
}
